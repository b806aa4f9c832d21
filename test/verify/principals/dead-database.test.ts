/**
 * The database of the auth servers dies between the commit of a revocation and its publication. What is acknowledged
 * all the same is refused a second later; who is not concerned goes on while changes are still heard of. In virtual
 * time.
 */
import { randomUUID } from 'node:crypto'
import { beforeEach, describe, expect, it, vi } from 'vitest'
import { Unavailable } from '../../../shared/platform/problems/errors.ts'
import { announceSuccession } from '../../../shared/protocol/principal/succession.ts'
import type { AuthProcess, DealProcess } from '../../support/processes/freshness-processes.ts'
import { mayHold, mayNothing, recordMaxAgeMs } from '../../support/worlds/freshness/freshness-situation.ts'
import { FreshnessWorld } from '../../support/worlds/freshness/freshness-world.ts'

vi.mock('node:timers/promises', async () => {
  const { virtualSleep } = await import('../../support/worlds/freshness/virtual-time.ts')
  return { setTimeout: virtualSleep }
})
vi.mock('../../../shared/platform/concurrency/deadline.ts', async (original) => {
  const { virtualDeadlines } = await import('../../support/worlds/freshness/virtual-time.ts')
  return virtualDeadlines(await original<typeof import('../../../shared/platform/concurrency/deadline.ts')>())
})

const longMs = 600_000

let world: FreshnessWorld
/** The auth server that the deal server asks, another one, and the deal server. */
let first: AuthProcess
let second: AuthProcess
let deal: DealProcess

beforeEach(async () => {
  world = new FreshnessWorld({ authServers: 2, dealServers: 1, recordMaxAgeMs, seed: 1, streams: true })
  const [[one, other], [follower]] = [world.auth, world.deals]
  if (!one || !other || !follower) throw new Error('unreachable')
  first = one
  second = other
  deal = follower
  await world.time.pass(500)
  for (const name of ['alice', 'bob']) await world.time.until(world.change(second, name, () => mayHold))
  await world.time.pass(500)
})

const rights = async (username: string) => (await world.time.until(deal.records.get(username)))?.directRights
/** What a user may do; `refused` when that cannot be said. */
const outcome = (username: string) =>
  rights(username).catch((error: unknown) => {
    expect(error).toBeInstanceOf(Unavailable)
    return 'refused'
  })
const cutFromRedis = ({ cache }: Pick<AuthProcess, 'cache'>) => {
  cache.link.cut(longMs)
  cache.deafen(longMs)
}
const followStream = async () => {
  cutFromRedis(deal)
  await world.time.pass(3_000)
  expect(deal.streams).toBeGreaterThan(0)
}
const knowAll = async () => {
  for (const name of ['alice', 'bob']) expect(await rights(name)).toEqual(['deal.hold'])
}

type End = (server: AuthProcess) => void
const isCut: End = ({ database }) => database.link.cut(longMs)
const isFrozen: End = ({ database }) => database.link.stall('answers', longMs)

/** Takes alice's right away at this server. The database ends right after the commit. True when it is acknowledged. */
async function revokeAtTheEnd(server: AuthProcess, end: End): Promise<boolean> {
  const { change } = server.database
  server.database.change = async (...args) => {
    const version = await change.apply(server.database, args)
    for (const each of world.auth) end(each)
    return version
  }
  return world.time.until(world.change(server, 'alice', () => mayNothing))
}

const ends: [string, End][] = [
  ['dies', isCut],
  ['freezes', isFrozen],
]
const ways: [string, () => AuthProcess, () => Promise<unknown>][] = [
  ['hears Redis', () => first, async () => undefined],
  ['follows a stream of the same auth server', () => first, followStream],
  ['follows a stream of another auth server', () => second, followStream],
]

describe.each(ends)('when the database %s', (_, end) => {
  it.each(ways)(
    'a deal server that %s refuses what was acknowledged, and goes on with others',
    async (_, at, begin) => {
      await begin()
      await knowAll()
      const endsAt = world.time.monotonic()
      expect(await revokeAtTheEnd(at(), end)).toBe(true)
      while (world.time.monotonic() < endsAt + recordMaxAgeMs - 3_000) {
        await world.time.pass(1_000)
        expect(await outcome('alice')).toEqual('refused')
        expect(await outcome('bob')).toEqual(['deal.hold'])
      }
      await world.time.pass(5_000)
      expect(await outcome('bob')).toBe('refused')
      for (const { database } of world.auth) database.link.heal()
      await world.time.pass(4_000)
      expect(await outcome('alice')).toEqual([])
      expect(await outcome('bob')).toEqual(['deal.hold'])
      expect(world.violations).toEqual([])
    },
  )

  it('a deal server whose auth server hears nothing of others believes nothing after a second', async () => {
    cutFromRedis(first)
    await followStream()
    await knowAll()
    expect(await revokeAtTheEnd(second, end)).toBe(true)
    await world.time.pass(1_000)
    for (const name of ['alice', 'bob']) expect(await outcome(name)).toBe('refused')
  })

  it('a deal server that missed messages since believes nothing after a second', async () => {
    await knowAll()
    deal.cache.deafen(50)
    deal.authLink.stall('answers', 200)
    expect(await revokeAtTheEnd(second, end)).toBe(true)
    await world.time.pass(1_000)
    expect(await outcome('alice')).toBe('refused')
  })

  it('a change that nobody else can know of is not acknowledged', async () => {
    await knowAll()
    cutFromRedis(second)
    expect(await revokeAtTheEnd(second, end)).toBe(false)
  })
})

it('a deal server whose feed was not current before believes nothing: the database alone may have told', async () => {
  deal.feedStream.stop()
  for (const each of world.auth) cutFromRedis(each)
  await world.time.pass(2_000)
  await knowAll()
  expect(await world.time.until(world.change(second, 'alice', () => mayNothing))).toBe(true)
  for (const each of world.auth) isCut(each)
  await world.time.pass(1_000)
  for (const name of ['alice', 'bob']) expect(await outcome(name)).toBe('refused')
})

it('a deal server that reaches nothing goes on, as before', async () => {
  await knowAll()
  for (const each of world.auth) isCut(each)
  cutFromRedis(deal)
  deal.authLink.cut(longMs)
  await world.time.pass(recordMaxAgeMs - 2_000)
  expect(await outcome('bob')).toEqual(['deal.hold'])
  await world.time.pass(4_000)
  expect(await outcome('bob')).toBe('refused')
})

it('the stream of an auth server without its database tells what another one reads', async () => {
  await followStream()
  isCut(first)
  for (let passed = 0; passed < 5_000; passed += 10) {
    await world.time.pass(10)
    expect(deal.feed.isCurrent()).toBe(true)
  }
  await world.time.until(world.change(second, 'alice', () => mayNothing))
  await world.time.pass(400)
  expect(deal.feed.minVersion('alice')).toBe(3)
  expect(world.violations).toEqual([])
})

it('an auth server without its database stops to speak for an instance that has a successor', async () => {
  await followStream()
  isCut(first)
  await world.time.pass(1_000)
  expect(deal.feed.hears()).toBe(true)
  const formers = [world.principals.instanceId]
  await world.time.until(announceSuccession(second.cache, { instanceId: randomUUID(), formers, number: 2 }))
  await world.time.pass(1_200)
  expect(deal.feed.hears()).toBe(false)
})
