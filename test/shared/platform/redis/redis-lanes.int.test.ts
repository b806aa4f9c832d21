/** Entries in a Redis Cluster: where they stand, and with which runs of its nodes they count. */
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Cache, runsOf } from '../../../../shared/platform/cache/cache.ts'
import { feedKey, laneCount, laneKey } from '../../../../shared/platform/cache/lanes.ts'
import { slotOf } from '../../../../shared/platform/redis/redis-slots.ts'
import { eventually } from '../../../support/eventually.ts'
import {
  type RedisServer,
  startRedisCluster,
  startRedisServer,
} from '../../../support/processes/stores/redis-server.ts'
import { openTestCache } from '../../../support/stores/redis-cache.ts'
import { describeCache } from '../cache/cache.conformance.ts'

const possible = process.env.TEST_REDIS_URL !== undefined
const ttlSeconds = 60
const entry = { version: 5, value: 'x' }

describe.skipIf(!possible)('a Redis Cluster of three masters (needs TEST_REDIS_URL and redis-server)', () => {
  let nodes: RedisServer[] = []
  const opened: Cache[] = []
  const open = async (url = nodes.map((node) => node.url).join(',')) => {
    const cache = openTestCache(url, { commandTimeoutMs: 1_000 })
    opened.push(cache)
    await eventually(() => cache.ping())
    return cache
  }
  /** A key on the node at a place among three with equal shares. */
  const keyOn = (place: number): string => {
    for (let lane = 0; lane < laneCount; lane += 1) {
      const key = laneKey(lane, `test:${Math.random()}`)
      if (Math.floor((slotOf(key) * 3) / 16_384) === place) return key
    }
    throw new Error('no lane is there')
  }
  const ofFeed = Math.floor((slotOf(feedKey('')) * 3) / 16_384)
  const [one, other] = [(ofFeed + 1) % 3, (ofFeed + 2) % 3] as const

  beforeAll(async () => {
    nodes = await startRedisCluster(3)
  }, 30_000)
  afterAll(async () => {
    for (const cache of opened) await cache.close()
    for (const node of nodes) await node.dispose()
  })

  describeCache('Redis Cluster', async () => {
    const [cache, another] = [await open(), await open()]
    return { cache, other: another, pass: (milliseconds) => sleep(milliseconds) }
  })

  const restart = async (place: number, cache: Cache) => {
    await nodes[place]?.kill()
    await nodes[place]?.start()
    await eventually(() => cache.ping())
  }

  it('has each key on the node of its lane', async () => {
    const cache = await open()
    for (const place of [0, 1, 2]) {
      const key = keyOn(place)
      await cache.putVersioned(key, entry, { ttlSeconds })
      const held = await Promise.all(nodes.map(({ command }) => command('KEYS', key)))
      expect(held).toEqual([0, 1, 2].map((at) => (at === place ? [key] : [])))
    }
  })

  it('uses numbers of several lanes at once', async () => {
    const cache = await open()
    const keys = Array.from({ length: 12 }, (_, index) => keyOn(index % 3))
    for (const key of keys) await cache.startNumbers(key, { number: 1, ttlSeconds })
    const use = (key: string, number: number) => cache.useNumber(key, { number, ttlSeconds })
    expect(await Promise.all(keys.map((key, at) => use(key, at % 2 === 0 ? 1 : 2)))).toEqual(
      keys.map((_, at) => (at % 2 === 0 ? 'refused' : 'used')),
    )
    expect(await use(keyOn(one), 1)).toBe('unknown')
  })

  it('believes nothing from before a restart of the node of the channels, where the published version was', async () => {
    const cache = await open()
    const key = keyOn(one)
    const since = await cache.time()
    await cache.putVersioned(key, entry, { ttlSeconds, since })
    await restart(ofFeed, cache)
    const now = await cache.time()
    expect(await cache.getVersioned(key, { runs: runsOf(now) })).toBeUndefined()
    expect(await cache.putVersioned(key, { version: 1, value: 'low' }, { ttlSeconds, since: now })).toBe(true)
    expect(await cache.getVersioned(key, { runs: runsOf(now) })).toEqual({ version: 1, value: 'low' })
    expect(await cache.getVersioned(key, { runs: runsOf(since) })).toBeUndefined()
  })

  it('believes of a node that was restarted nothing, and of the others all', async () => {
    const cache = await open()
    const [lost, kept] = [keyOn(one), keyOn(other)]
    const since = await cache.time()
    for (const key of [lost, kept]) await cache.putVersioned(key, entry, { ttlSeconds, since })
    await nodes[one]?.command('SAVE')
    await restart(one, cache)
    expect(await nodes[one]?.command('EXISTS', lost)).toBe(1)
    const among = { runs: runsOf(await cache.time()) }
    expect(await cache.getVersioned(lost, among)).toBeUndefined()
    expect(await cache.getVersioned(kept, among)).toEqual(entry)
    expect(await cache.putVersioned(lost, entry, { ttlSeconds, since })).toBe(false)
    expect(await cache.putVersioned(kept, entry, { ttlSeconds, since })).toBe(true)
  })

  it('believes no entry of a node that the message does not name: it may be a master that was replaced', async () => {
    const cache = await open()
    const key = keyOn(one)
    const since = await cache.time()
    await cache.putVersioned(key, entry, { ttlSeconds, since })
    const [first, others = ''] = String(runsOf(since)).split('@')
    expect(others.split(',')).toHaveLength(2)
    for (const run of others.split(',')) {
      const isNamed = String(await nodes[one]?.command('INFO', 'server')).includes(run.split('-')[0] ?? '')
      const found = await cache.getVersioned(key, { runs: `${first}@${run}` })
      expect(found).toEqual(isNamed ? entry : undefined)
    }
  })

  it('mixes nothing with what was put or told when only one server was known', async () => {
    const [cache, single] = [await open(), await startRedisServer()]
    const key = keyOn(one)
    const sinceThen = await (await open(single.url)).time()
    expect(await cache.putVersioned(key, entry, { ttlSeconds, since: sinceThen })).toBe(false)
    expect(await cache.publish(feedKey('test'), 'x', { since: sinceThen, maxAgeMs: 60_000 })).toBe(false)
    await cache.putVersioned(key, entry, { ttlSeconds, since: await cache.time() })
    expect(await cache.getVersioned(key, { runs: undefined })).toBeUndefined()
    await single.dispose()
  })

  it('has no present point in time while one of its nodes is away, and no answer from that node', async () => {
    const cache = await open()
    await nodes[other]?.kill()
    await eventually(() => expect(cache.time()).rejects.toThrow('cache is not available'))
    await nodes[other]?.start()
    await eventually(() => cache.time())
  })
})
