/** Whose feed a deal server follows: known late, or another one's all of a sudden. In virtual time. */
import { beforeEach, expect, it, vi } from 'vitest'
import { Unavailable } from '../../../shared/platform/problems/errors.ts'
import {
  mayHold,
  mayNothing,
  openSituation,
  type Situation,
} from '../../support/worlds/freshness/freshness-situation.ts'

vi.mock('node:timers/promises', async () => {
  const { virtualSleep } = await import('../../support/worlds/freshness/virtual-time.ts')
  return { setTimeout: virtualSleep }
})

let at: Situation
beforeEach(async () => {
  at = await openSituation()
})

/** A deal server that is started while no auth server can be reached; it has asked in vain by now. */
const startWithoutAuth = async () => {
  at.killAuthServers()
  at.world.restartDeal(0)
  const [deal] = at.world.deals
  if (!deal) throw new Error('unreachable')
  await at.time.pass(100)
  return { deal, rights: async () => (await at.time.until(deal.records.get('alice')))?.directRights }
}

it('believes neither cache nor feed before it knows the instance', async () => {
  const { deal, rights } = await startWithoutAuth()
  await expect(rights()).rejects.toThrow(Unavailable)
  expect(deal.feed.isCurrent()).toBe(false)
  expect(deal.cache.reads).toBe(0)
})

it('asks again every 500 ms until it knows, and is current then', async () => {
  const { deal } = await startWithoutAuth()
  await at.time.pass(5_000)
  const calls = deal.authLink.calls
  await at.time.pass(5_000)
  expect(deal.authLink.calls - calls).toBeGreaterThanOrEqual(9)
  expect(deal.authLink.calls - calls).toBeLessThanOrEqual(10)
  at.world.startAuth(0)
  await at.time.pass(800)
  expect(deal.feed.isCurrent()).toBe(true)
  const known = deal.authLink.calls
  await at.time.pass(5_000)
  expect(deal.authLink.calls).toBe(known)
})

it('also gets it from the first record', async () => {
  const { deal, rights } = await startWithoutAuth()
  await at.time.pass(410)
  at.world.startAuth(0)
  expect(await rights()).toEqual(['deal.hold'])
  expect(deal.feed.instanceId()).toBe(at.world.principals.instanceId)
})

it('sends no request after it was stopped', async () => {
  const { deal } = await startWithoutAuth()
  await deal.feed.stop()
  const { calls } = deal.authLink
  at.world.startAuth(0)
  await at.time.pass(5_000)
  expect(deal.authLink.calls).toBe(calls)
  expect(deal.feed.instanceId()).toBeUndefined()
})

/** Alice of the first database has had many changes, so that her version is beyond any of the next. */
const changeOften = async () => {
  for (let count = 0; count < 20; count += 1) at.world.principals.change('alice', () => mayHold)
  await at.time.pass(500)
  expect(await at.rights('alice')).toEqual(['deal.hold'])
}

it.each(['under running auth servers', 'together with the auth servers'])(
  'drops all it knows when the database is replaced %s',
  async (how) => {
    await changeOften()
    const before = at.deal.feed.instanceId()
    if (how.startsWith('together')) at.killAuthServers()
    at.world.principals.replace()
    for (const place of [0, 1]) at.world.startAuth(place)
    at.world.principals.change('alice', () => mayNothing)
    await at.time.pass(1_100)
    expect(await at.rights('alice')).toEqual([])
    expect(await at.rights('bob')).toBeUndefined()
    expect(at.deal.feed.instanceId()).not.toBe(before)
    await at.time.pass(500)
    expect(at.deal.feed.isCurrent()).toBe(true)
    const [server] = at.world.auth
    if (server)
      await at.time.until(
        at.world.change(server, 'bob', () => mayHold),
        100,
      )
    await at.time.pass(5)
    expect(await at.rights('bob')).toEqual(['deal.hold'])
    await at.rights('alice')
    const known = at.asked()
    await at.time.pass(3_000)
    for (const name of ['alice', 'bob']) await at.rights(name)
    expect(at.asked()).toBe(known)
  },
)

it('follows the next instance without any request of a client', async () => {
  await changeOften()
  at.world.principals.replace()
  await at.time.pass(2_000)
  expect(at.deal.feed.instanceId()).toBe(at.world.principals.instanceId)
  expect(at.deal.feed.isCurrent()).toBe(true)
})

it('ignores a response that was on its way when the database was replaced', async () => {
  await changeOften()
  at.deal.cache.deafen(2_000)
  await at.time.pass(900)
  at.deal.authLink.stall('answers', 400)
  const late = at.deal.records.get('alice')
  await at.time.pass(50)
  at.world.principals.replace()
  at.world.principals.change('alice', () => mayNothing)
  at.deal.feed.observeInstance(at.world.principals.instanceId, at.deal.feed.instanceId())
  expect(await at.time.until(late)).toMatchObject({ directRights: [] })
  expect(at.deal.feed.instanceId()).toBe(at.world.principals.instanceId)
})
