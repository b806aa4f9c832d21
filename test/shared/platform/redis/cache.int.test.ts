import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { createMemoryCache } from '../../../../shared/platform/cache/memory-cache.ts'
import { openCache } from '../../../../shared/platform/redis/open-cache.ts'
import { eventually } from '../../../support/eventually.ts'
import { cacheSecret, openTestCache } from '../../../support/stores/redis-cache.ts'
import { describeCache } from '../cache/cache.conformance.ts'

const redisUrl = process.env.TEST_REDIS_URL

function movableClock() {
  let milliseconds = 0
  return {
    now: () => milliseconds,
    monotonic: () => milliseconds,
    advance: (by: number) => {
      milliseconds += by
    },
  }
}

describeCache('in this process', async () => {
  const clock = movableClock()
  const cache = createMemoryCache(clock)
  return { cache, other: cache, pass: async (milliseconds) => clock.advance(milliseconds) }
})

if (redisUrl === undefined) {
  it.skip('cache contract: Redis (TEST_REDIS_URL is not set)', () => undefined)
} else {
  describeCache('Redis', async () => {
    // Long waits here only say that the machine is busy.
    const [cache, other] = [redisUrl, redisUrl].map((url) => openTestCache(url, { commandTimeoutMs: 5000 }))
    if (cache === undefined || other === undefined) throw new Error('unreachable')
    for (const client of [cache, other]) await eventually(() => client.ping())
    return { cache, other, pass: async (milliseconds) => sleep(milliseconds) }
  })
}

describe('the cache in this process', () => {
  const entry = { version: 1, value: 'x' }

  it('removes the least recently used entry when it is full', async () => {
    const cache = createMemoryCache(movableClock(), { maxEntries: 2 })
    await cache.putVersioned('a', entry, { ttlSeconds: 60 })
    await cache.putVersioned('b', entry, { ttlSeconds: 60 })
    await cache.getVersioned('a')
    await cache.putVersioned('c', entry, { ttlSeconds: 60 })
    expect(await cache.getVersioned('a')).toEqual(entry)
    expect(await cache.getVersioned('b')).toBeUndefined()
    expect(await cache.getVersioned('c')).toEqual(entry)
  })

  it('refuses the moments of another cache object', async () => {
    const clock = movableClock()
    const since = await createMemoryCache(clock).time()
    const cache = createMemoryCache(clock)
    expect(await cache.putVersioned('a', entry, { ttlSeconds: 60, since })).toBe(false)
    expect(await cache.publish('channel', 'x', { since, maxAgeMs: 1000 })).toBe(false)
  })

  it('does not deliver to a listener that came after the publication', async () => {
    const cache = createMemoryCache(movableClock())
    const heard: string[] = []
    const since = await cache.time()
    const published = cache.publish('channel', 'before', { since, maxAgeMs: 1000 })
    await cache.subscribe('channel', (message) => heard.push(message))
    await published
    await cache.publish('channel', 'after', { since, maxAgeMs: 1000 })
    await sleep(1)
    expect(heard).toEqual(['after'])
  })

  it('reports the error of a listener', async () => {
    const errors: unknown[] = []
    const cache = openCache({
      redisUrl: undefined,
      clock: movableClock(),
      secrets: [cacheSecret],
      onListenerError: (error) => errors.push(error),
    })
    const failure = new Error('a listener failed')
    await cache.subscribe('channel', () => {
      throw failure
    })
    await cache.publish('channel', 'x', { since: await cache.time(), maxAgeMs: 1000 })
    await sleep(1)
    expect(errors).toEqual([failure])
  })
})
