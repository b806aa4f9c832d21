/** One of four auth servers sends the heartbeats of the change feed to eight deal servers. In virtual time. */
import { beforeEach, expect, it, vi } from 'vitest'
import type { AuthProcess } from '../../support/processes/freshness-processes.ts'
import { mayHold, mayNothing } from '../../support/worlds/freshness/freshness-situation.ts'
import { FreshnessWorld } from '../../support/worlds/freshness/freshness-world.ts'

vi.mock('node:timers/promises', async () => {
  const { virtualSleep } = await import('../../support/worlds/freshness/virtual-time.ts')
  return { setTimeout: virtualSleep }
})

let world: FreshnessWorld
let heard = 0

beforeEach(async () => {
  world = new FreshnessWorld({ authServers: 4, dealServers: 8, recordMaxAgeMs: 20_000, seed: 1 })
  const [first] = world.auth
  if (!first) throw new Error('unreachable')
  await world.time.until(world.change(first, 'alice', () => mayHold))
  await world.time.pass(1_000)
  for (const deal of world.deals) await world.time.until(deal.records.get('alice'))
  heard = 0
  for (const { feed } of world.deals) feed.onPublishedKeys(() => (heard += 1))
})

/** The server that has published since the last look at all of them. */
const publisherOf = async (): Promise<AuthProcess> => {
  const published = new Map<AuthProcess, number>()
  for (const server of world.auth) {
    const { publish } = server.cache
    server.cache.publish = (...message) => {
      published.set(server, (published.get(server) ?? 0) + 1)
      return publish.apply(server.cache, message)
    }
  }
  await world.time.pass(1_000)
  const [[server] = []] = [...published].sort(([, a], [, b]) => b - a)
  if (!server) throw new Error('nobody publishes')
  return server
}

/** Lets time pass, and says how old the feed of any deal server was at most, in milliseconds. */
const oldestFeedIn = async (milliseconds: number): Promise<number> => {
  let oldest = 0
  for (let passed = 0; passed < milliseconds; passed += 5) {
    await world.time.pass(5)
    oldest = Math.max(oldest, ...world.deals.map(({ feed }) => feed.ageMs()))
  }
  return oldest
}

it('a deal server hears five messages a second while nothing changes', async () => {
  await world.time.pass(20_000)
  expect(heard / 20 / 8).toBeGreaterThan(4)
  expect(heard / 20 / 8).toBeLessThanOrEqual(5)
})

it('a change that another server announces costs each deal server one message', async () => {
  const [, second] = world.auth
  if (!second) throw new Error('unreachable')
  for (let count = 0; count < 20; count += 1) {
    await world.time.until(world.change(second, 'alice', count % 2 === 0 ? () => mayNothing : () => mayHold))
    await world.time.pass(1_000)
  }
  expect(heard / 20 / 8).toBeLessThanOrEqual(6.2)
  expect(world.violations).toEqual([])
})

it.each<[string, (holder: AuthProcess) => void]>([
  ['is killed', (holder) => holder.kill()],
  [
    'is frozen for two seconds',
    (holder) => {
      for (const way of ['requests', 'answers'] as const)
        for (const link of [holder.cache.link, holder.database.link]) link.stall(way, 2_000)
    },
  ],
  ['is cut off from the cache', (holder) => holder.cache.link.cut(3_000)],
  ['is cut off from its database', (holder) => holder.database.link.cut(3_000)],
  ['waits for its database', (holder) => holder.database.link.stall('answers', 3_000)],
  ['is stopped in order', (holder) => void holder.publisher.stop()],
])('the feed stays current when the server that publishes %s', async (_how, happen) => {
  const asked = world.deals.map((deal) => deal.asked)
  const holder = await publisherOf()
  happen(holder)
  expect(await oldestFeedIn(4_000)).toBeLessThan(700)
  for (const deal of world.deals) await world.time.until(deal.records.get('alice'))
  expect(world.deals.map((deal) => deal.asked)).toEqual(asked)
  heard = 0
  await world.time.pass(10_000)
  expect(heard / 10 / 8).toBeLessThanOrEqual(5)
})

it('another server publishes what the one that publishes has committed and not announced', async () => {
  const holder = await publisherOf()
  world.principals.change('alice', () => mayNothing)
  holder.kill()
  await world.time.pass(700)
  for (const deal of world.deals)
    expect(await world.time.until(deal.records.get('alice'))).toMatchObject({ directRights: [] })
})

it('a server that publishes other keys than the one that publishes says so, until both agree', async () => {
  const keys = new Set<string>()
  for (const { feed } of world.deals) feed.onPublishedKeys((digest) => keys.add(digest))
  const holder = await publisherOf()
  const other = world.auth.find((server) => server !== holder)
  if (!other) throw new Error('unreachable')
  other.publishedKeys = 'others'
  await world.time.pass(450)
  expect(keys).toEqual(new Set(['the same', 'others']))
  for (const server of world.auth) server.publishedKeys = 'others'
  await world.time.pass(1_000)
  heard = 0
  keys.clear()
  await world.time.pass(10_000)
  expect(keys).toEqual(new Set(['others']))
  expect(heard / 10 / 8).toBeLessThanOrEqual(5)
})

it('a server that does not publish notices another database', async () => {
  const holder = await publisherOf()
  const other = world.auth.find((server) => server !== holder)
  let noticed = 0
  other?.publisher.onOtherInstance(() => (noticed += 1))
  world.principals.replace()
  await world.time.pass(300)
  expect(noticed).toBe(1)
})
