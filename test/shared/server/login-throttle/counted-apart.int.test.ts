import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Cache } from '../../../../shared/platform/cache/cache.ts'
import { createMemoryCache } from '../../../../shared/platform/cache/memory-cache.ts'
import { systemClock } from '../../../../shared/platform/clock.ts'
import { Unavailable } from '../../../../shared/platform/problems/errors.ts'
import { eventually } from '../../../support/eventually.ts'
import { openTestCache } from '../../../support/stores/redis-cache.ts'
import { address, expectTooMany, fail, limits, newAccount, newSecret, right, server, wrong } from './attempts.ts'

const redisUrl = process.env.TEST_REDIS_URL

describe.each([
  ['in this process', async () => createMemoryCache(systemClock)],
  ...(redisUrl === undefined
    ? []
    : [['Redis', async () => openTestCache(redisUrl, { commandTimeoutMs: 5000 })] as const]),
] as const)('what counts apart: %s', (_, open: () => Promise<Cache>) => {
  let cache: Cache
  beforeAll(async () => {
    cache = await open()
    await eventually(() => cache.ping())
  })
  afterAll(() => cache.close())

  it.each(['digest', 'client'] as const)(
    'counts failures of a %s secret for it and the address alone',
    async (secret) => {
      const [loginThrottle, account] = [server(cache), newAccount()]
      const failed = (from: string) => loginThrottle.judge({ account, secret, address: from }, false)
      for (let time = 0; time < 10; time += 1) await failed(address)
      await expectTooMany(loginThrottle.judge({ account, secret, address }, true))
      expect(await loginThrottle.attempt({ account, address }, right)).toBe('right')
      // From everywhere.
      for (let time = 10; time < 1_000; time += 1) await failed(`2001:db8:${time}::1`)
      await expectTooMany(loginThrottle.judge({ account, secret, address: '192.0.2.9' }, true))
      expect(await loginThrottle.attempt({ account, address: '192.0.2.9' }, right)).toBe('right')
      for (let time = 0; time < 90; time += 1) await loginThrottle.attempt({ account: newAccount(), address }, wrong)
      await expectTooMany(loginThrottle.judge({ account: newAccount(), secret, address }, true))
    },
  )

  it('counts what a service tells for that service alone, whatever addresses it states', async () => {
    const secrets = [newSecret()]
    const options = { secrets, limits: { ...limits, perAddress: { count: 20, seconds: 60 } } }
    const [here, elsewhere] = [server(cache, options), server(cache, options)]
    const [account, service, home] = [newAccount(), 'service-1', '2001:db8:51:1::1']
    expect(await here.attempt({ account, address: home }, right)).toBe('right')
    for (let time = 0; time < 10; time += 1) await here.attempt({ account, service, address: home }, wrong)
    for (const loginThrottle of [here, elsewhere]) {
      await expectTooMany(loginThrottle.attempt({ account, service, address: '2001:db8:51:1::2' }, right))
      await expectTooMany(loginThrottle.judge({ account, service, address: home }, true))
      expect(await loginThrottle.attempt({ account, address: home }, right)).toBe('right')
      expect(await loginThrottle.attempt({ account, service: 'service-2', address: home }, right)).toBe('right')
    }
    // All that the service tells: it is refused for addresses that no server itself has seen succeed.
    for (let time = 0; time < 160; time += 1)
      await here.attempt({ account: newAccount(), service, address: `203.0.113.${time}` }, wrong)
    const [other, office] = [newAccount(), '198.51.100.51']
    await expectTooMany(elsewhere.attempt({ account: other, service, address: office }, right))
    expect(await elsewhere.attempt({ account: other, address: office }, right)).toBe('right')
    expect(await here.attempt({ account: other, service, address: office }, right)).toBe('right')
    await expectTooMany(here.attempt({ account: other, service, address: '198.51.100.52' }, right))
    expect(await elsewhere.attempt({ account: newAccount(), address: '203.0.113.1' }, right)).toBe('right')
    // What succeeds at the service alone is known there alone.
    expect(await here.attempt({ account, service: 'service-2', address: '192.0.2.51' }, right)).toBe('right')
    for (let time = 0; time < 1_000; time += 10) await fail(elsewhere, account, 10, `2001:db8:${time}::1`)
    await expectTooMany(here.attempt({ account, address: '192.0.2.51' }, right))
  })
})

describe('the end of a lock', () => {
  const open = (from: Partial<Cache> = {}) => {
    const cache = createMemoryCache(systemClock)
    const written: string[] = []
    const putVersioned: Cache['putVersioned'] = (key, ...entry) => {
      if (key.includes('locked:')) written.push(key)
      return cache.putVersioned(key, ...entry)
    }
    const own: Partial<Cache> = Object.assign({ putVersioned }, from)
    const all = new Proxy<Cache>(cache, {
      get: (_, name: keyof Cache) => own[name] ?? cache[name].bind(cache),
    })
    let throttleGeneration = 1
    const loginThrottle = server(all, { throttleGenerationOf: async () => throttleGeneration })
    const unlock = () => {
      throttleGeneration += 1
    }
    return { loginThrottle, written, unlock }
  }

  it('is noted once in a flood of refusals, and is over with an unlock', async () => {
    const { loginThrottle, written, unlock } = open()
    await fail(loginThrottle, 'flooded', 10)
    expect(await loginThrottle.lockedUntil('flooded')).toBeUndefined()
    for (let time = 0; time < 50; time += 1)
      await expectTooMany(loginThrottle.judge({ account: 'flooded', address }, true))
    expect(written).toHaveLength(1)
    const until = (await loginThrottle.lockedUntil('FLOODED')) ?? 0
    expect(until - systemClock.now()).toBeGreaterThan(890_000)
    expect(until - systemClock.now()).toBeLessThanOrEqual(900_000)
    unlock()
    expect(await loginThrottle.lockedUntil('flooded')).toBeUndefined()
  })

  it('is known to the process that refused, while the cache is away', async () => {
    const away = () => Promise.reject(new Unavailable('cache'))
    const { loginThrottle } = open({
      putVersioned: away,
      getVersioned: away,
      beginAttempt: away,
      endAttempt: away,
      allowsAttempt: away,
    })
    await fail(loginThrottle, 'away', 10)
    await expectTooMany(loginThrottle.judge({ account: 'away', address }, true))
    expect(await loginThrottle.lockedUntil('away')).toBeGreaterThan(systemClock.now() + 890_000)
    expect(await loginThrottle.lockedUntil('another')).toBeUndefined()
  })
})
