/** Deal servers that follow a stream of an auth server while Redis tells them nothing. In virtual time. */
import { beforeEach, expect, it, vi } from 'vitest'
import { mayHold, mayNothing } from '../../support/worlds/freshness/freshness-situation.ts'
import { FreshnessWorld } from '../../support/worlds/freshness/freshness-world.ts'

vi.mock('node:timers/promises', async () => {
  const { virtualSleep } = await import('../../support/worlds/freshness/virtual-time.ts')
  return { setTimeout: virtualSleep }
})

// So that 80 changes are as many as a series has.
vi.mock('../../../shared/protocol/principal/change-feed.ts', async (original) => ({
  ...(await original<object>()),
  maxChangesInMessage: 10,
  maxPartsInSeries: 8,
}))

const usernames = Array.from({ length: 50 }, (_, index) => `user-${index}`)

let world: FreshnessWorld
let askedBefore = 0

beforeEach(async () => {
  world = new FreshnessWorld({ authServers: 2, dealServers: 2, recordMaxAgeMs: 20_000, seed: 1, streams: true })
  for (const username of usernames) world.principals.change(username, () => mayHold)
  await world.time.pass(1_000)
  await readAll()
  askedBefore = world.deals.reduce((sum, deal) => sum + deal.asked, 0)
})

/** Reads every user at every deal server once. */
const readAll = async () => {
  for (const deal of world.deals) for (const username of usernames) await world.time.until(world.read(deal, username))
}
/** So many records were asked for, since all deal servers knew all users. */
const questions = () => world.deals.reduce((sum, deal) => sum + deal.asked, 0) - askedBefore
const streams = () => world.deals.map((deal) => deal.streams)
/** Changes a user at an auth server. Its acknowledgement waits a second for Redis, longer than is waited here. */
const change = async (at: number, username: string, to: object) => {
  const server = world.auth[at]
  if (!server) throw new Error('unreachable')
  const version = await world.time.until(server.database.change(username, () => to))
  void server.publisher.waitUntilPublished(version, [{ username, version }])
  await world.time.pass(300)
}
/** What a user may do at each deal server. */
const rights = (username: string) =>
  Promise.all(world.deals.map(async (deal) => (await world.time.until(deal.records.get(username)))?.directRights))

it('opens no stream while Redis brings the feed', async () => {
  await world.time.pass(120_000)
  expect(streams()).toEqual([0, 0])
})

it('asks for no record that it knows when Redis goes away, however many users there are', async () => {
  world.cacheServer.kill()
  for (let passed = 0; passed < 10_000; passed += 1_000) {
    await readAll()
    await world.time.pass(1_000)
  }
  expect(questions()).toBe(0)
  expect(streams()).toEqual([1, 1])
  expect(world.violations).toEqual([])
})

it('asks once for a record that it does not know', async () => {
  world.cacheServer.kill()
  await world.time.pass(2_000)
  world.principals.change('newcomer', () => mayHold)
  await world.time.pass(300)
  for (let count = 0; count < 20; count += 1) {
    expect(await rights('newcomer')).toEqual([['deal.hold'], ['deal.hold']])
    await world.time.pass(200)
  }
  expect(questions()).toBe(2)
})

it.each([0, 1])('refuses what auth server %i takes away while Redis is away', async (at) => {
  world.cacheServer.kill()
  await world.time.pass(2_000)
  await change(at, 'user-7', mayNothing)
  expect(await rights('user-7')).toEqual([[], []])
  expect(questions()).toBe(2)
  expect(world.violations).toEqual([])
})

it('goes on with another auth server when the one of the stream dies', async () => {
  world.cacheServer.kill()
  await world.time.pass(2_000)
  world.auth[0]?.kill()
  let oldest = 0
  for (let passed = 0; passed < 3_000; passed += 10) {
    await world.time.pass(10)
    oldest = Math.max(oldest, ...world.deals.map(({ feed }) => feed.ageMs()))
  }
  expect(oldest).toBeLessThan(800)
  await change(1, 'user-3', mayNothing)
  expect(await rights('user-3')).toEqual([[], []])
  await readAll()
  expect(questions()).toBe(2)
  expect(world.violations).toEqual([])
})

it('believes no line that was held up on its way', async () => {
  world.cacheServer.kill()
  await world.time.pass(2_000)
  const [deal] = world.deals
  if (!deal) throw new Error('unreachable')
  deal.authLink.stall('answers', 5_000)
  await world.time.pass(900)
  expect(deal.feed.isCurrent()).toBe(false)
  deal.authLink.stall('answers', 900)
  await world.time.pass(5_000)
  await change(1, 'user-3', mayNothing)
  expect(await rights('user-3')).toEqual([[], []])
  expect(world.violations).toEqual([])
})

it('counts the time of lines on their way: a slow connection hides no change', async () => {
  world.cacheServer.kill()
  await world.time.pass(2_000)
  const [deal] = world.deals
  if (!deal) throw new Error('unreachable')
  const opened = streams()
  for (let slownessMs = 0; slownessMs < 2_000; slownessMs += 40) {
    deal.authLink.stall('answers', slownessMs)
    await world.time.pass(100)
  }
  expect(streams()).toEqual(opened)
  expect(deal.feed.isCurrent()).toBe(false)
  await change(0, 'user-3', mayNothing)
  deal.authLink.heal()
  expect(await rights('user-3')).toEqual([[], []])
  await world.time.pass(500)
  expect(deal.feed.isCurrent()).toBe(true)
})

it('returns to Redis without a question, and closes the stream', async () => {
  world.cacheServer.kill()
  await world.time.pass(3_000)
  await change(0, 'user-1', mayNothing)
  world.cacheServer.start()
  await world.time.pass(10_000)
  const opened = streams()
  const asked = questions()
  await world.time.pass(120_000)
  await readAll()
  expect(await rights('user-1')).toEqual([[], []])
  expect(streams()).toEqual(opened)
  expect(questions() - asked).toBeLessThanOrEqual(2)
  expect(world.violations).toEqual([])
})

it('believes no record of the cache that is older than what the stream has told', async () => {
  world.cacheServer.kill()
  await world.time.pass(2_000)
  for (const at of [0, 1]) world.auth[at]?.cache.link.cut(60_000)
  world.cacheServer.start()
  for (const deal of world.deals) expect(deal.feed.isCacheCurrent()).toBe(false)
  await change(0, 'user-2', mayNothing)
  const before = world.deals.map((deal) => deal.cache.reads)
  await readAll()
  expect(await rights('user-2')).toEqual([[], []])
  expect(world.deals.map((deal) => deal.cache.reads)).toEqual(before)
})

it('believes the cache again when Redis has told what the stream told before', async () => {
  const [deal] = world.deals
  const position = deal?.feed.position()
  if (!deal || position?.after === undefined) throw new Error('unreachable')
  expect(deal.feed.isCacheCurrent()).toBe(true)
  const end = { after: position.after + 1, upTo: position.after + 1, readMs: 0, keys: '' }
  deal.feed.onLine({ instanceId: position.instance, changes: [], end }, world.time.monotonic())
  expect(deal.feed.isCurrent()).toBe(true)
  expect(deal.feed.isCacheCurrent()).toBe(false)
  world.principals.change('user-1', () => mayNothing)
  await world.time.pass(300)
  expect(deal.feed.isCacheCurrent()).toBe(true)
})

it('is opened again each minute, because two clocks part', async () => {
  world.cacheServer.kill()
  await world.time.pass(200_000)
  for (const count of streams()) expect(count).toBe(4)
  await readAll()
  expect(questions()).toBe(0)
})

it('goes on with the stream that it has while no other can be opened, as when PostgreSQL is away', async () => {
  world.cacheServer.kill()
  await world.time.pass(2_000)
  for (const deal of world.deals) deal.isStreamRefused = true
  let oldest = 0
  for (let passed = 0; passed < 90_000; passed += 50) {
    await world.time.pass(50)
    oldest = Math.max(oldest, ...world.deals.map(({ feed }) => feed.ageMs()))
  }
  expect(oldest).toBeLessThan(800)
  // One each two seconds, after the first minute.
  for (const count of streams()) expect(count).toBeLessThan(20)
  for (const deal of world.deals) deal.isStreamRefused = false
  await world.time.pass(3_000)
  const opened = streams()
  await change(0, 'user-3', mayNothing)
  expect(await rights('user-3')).toEqual([[], []])
  await world.time.pass(30_000)
  expect(streams()).toEqual(opened)
  expect(world.violations).toEqual([])
})

it('follows another database that a stream tells of', async () => {
  world.cacheServer.kill()
  await world.time.pass(2_000)
  world.principals.replace()
  world.principals.change('user-1', () => mayNothing)
  await world.time.pass(1_000)
  expect(await rights('user-1')).toEqual([[], []])
  expect(await rights('user-2')).toEqual([undefined, undefined])
})

it('tells of many changes one by one, and of too many that there were some', async () => {
  const epochs = () => world.deals.map(({ feed }) => feed.epoch())
  const before = epochs()
  const change = (prefix: string, count: number) => {
    for (let at = 1; at <= count; at += 1) world.principals.change(`${prefix}-${at}`, () => ({}))
  }
  for (const { cache, authLink } of world.deals) {
    cache.deafen(600_000)
    authLink.cut(3_000)
  }
  change('new', 80)
  await world.time.pass(6_000)
  expect(epochs()).toEqual(before)
  for (const { feed } of world.deals) expect(feed.minVersion('new-80')).toBe(usernames.length + 80)
  for (const { authLink } of world.deals) authLink.cut(3_000)
  change('more', 81)
  await world.time.pass(6_000)
  expect(epochs()).toEqual(before.map((epoch) => epoch + 1))
})
