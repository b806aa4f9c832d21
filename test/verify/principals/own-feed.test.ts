/**
 * The records that an auth server remembers, in virtual time: as fresh as those of deal servers, at once after changes
 * of its own, and never without its database. What servers that die and networks that fail change in any order is in
 * test/verify/principals.
 */
import { beforeEach, describe, expect, it, vi } from 'vitest'
import { Unavailable } from '../../../shared/platform/problems/errors.ts'
import type { AuthProcess } from '../../support/processes/freshness-processes.ts'
import {
  mayHold,
  mayNothing,
  openSituation,
  recordMaxAgeMs,
  type Situation,
} from '../../support/worlds/freshness/freshness-situation.ts'

vi.mock('node:timers/promises', async () => {
  const { virtualSleep } = await import('../../support/worlds/freshness/virtual-time.ts')
  return { setTimeout: virtualSleep }
})
vi.mock('../../../shared/platform/concurrency/deadline.ts', async (original) => {
  const { virtualDeadlines } = await import('../../support/worlds/freshness/virtual-time.ts')
  return virtualDeadlines(await original<typeof import('../../../shared/platform/concurrency/deadline.ts')>())
})

const longMs = 60_000

const freeze = ({ cache, database }: AuthProcess) => {
  cache.link.stall('requests', longMs)
  database.link.stall('requests', longMs)
}

let at: Situation
let own: AuthProcess
let other: AuthProcess

beforeEach(async () => {
  at = await openSituation()
  own = at.first
  other = at.second
})

const rights = async (username = 'alice') => (await at.time.until(own.records.get(username)))?.directRights
/** Changes alice in the database behind this server, which then does nothing more. */
const changeAndEnd = async (server: AuthProcess, end: () => void) => {
  const changed = server.database.change('alice', () => mayNothing)
  await at.time.until(changed)
  end()
}

it('come from memory while nothing changes', async () => {
  await rights()
  const { asked } = own
  for (let count = 0; count < 20; count += 1) {
    await at.time.pass(100)
    expect(own.records.get('alice')).toMatchObject({ directRights: ['deal.hold'] })
  }
  expect(own.asked).toBe(asked)
})

describe('what another server has changed', () => {
  const ends: [string, (server: AuthProcess) => void][] = [
    ['goes on', () => undefined],
    ['is killed after the commit', (server) => server.kill()],
    ['is frozen after the commit', (server) => freeze(server)],
    ['loses Redis', ({ cache }) => cache.link.cut(longMs)],
  ]
  it.each(ends)('is known a fraction of a second later when that one %s', async (_, end) => {
    await rights()
    await changeAndEnd(other, () => end(other))
    await at.time.pass(250)
    expect(await rights()).toEqual([])
  })

  it('is known without Redis', async () => {
    await rights()
    at.world.cacheServer.kill()
    await changeAndEnd(other, () => undefined)
    await at.time.pass(250)
    expect(await rights()).toEqual([])
  })

  it('is read before the answer when the database was slow for longer than memory may be believed', async () => {
    await rights()
    own.database.link.stall('answers', 900)
    await changeAndEnd(other, () => undefined)
    await at.time.pass(801)
    const { asked } = own
    expect(await rights()).toEqual([])
    expect(own.asked).toBe(asked + 1)
  })
})

describe('what it has changed itself', () => {
  it('is known with the answer', async () => {
    await rights()
    await at.time.until(at.world.change(own, 'alice', () => mayNothing))
    expect(await rights()).toEqual([])
  })

  it('is never answered as it was, though the database dies with the commit', async () => {
    await rights()
    const version = await at.time.until(own.database.change('alice', () => mayNothing))
    own.database.link.cut(longMs)
    void own.publisher.waitUntilPublished(version, [{ username: 'alice', version }]).catch(() => undefined)
    await expect(rights()).rejects.toThrow(Unavailable)
  })
})

describe('without its database', () => {
  it('it believes memory for 800 ms, whatever RECORD_MAX_AGE is', async () => {
    await rights()
    expect(recordMaxAgeMs).toBeGreaterThan(10_000)
    own.database.link.cut(longMs)
    await at.time.pass(300)
    expect(await rights()).toEqual(['deal.hold'])
    await at.time.pass(600)
    await expect(rights()).rejects.toThrow(Unavailable)
  })

  it('it knows the present when it is back', async () => {
    await rights()
    own.database.link.cut(3_000)
    await changeAndEnd(other, () => undefined)
    await at.time.pass(3_200)
    expect(await rights()).toEqual([])
  })
})

it('forgets all records when another database takes the place of its own', async () => {
  await rights()
  at.world.principals.replace()
  await at.time.pass(1_000)
  expect(await at.time.until(own.records.get('alice'))).toBeUndefined()
  at.world.principals.change('alice', () => mayHold)
  await at.time.pass(6_000)
  expect(await rights()).toEqual(['deal.hold'])
})
