import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import type { Cache } from '../../../../shared/platform/cache/cache.ts'
import { createMemoryCache } from '../../../../shared/platform/cache/memory-cache.ts'
import { systemClock } from '../../../../shared/platform/clock.ts'
import { Unavailable } from '../../../../shared/platform/problems/errors.ts'
import { eventually } from '../../../support/eventually.ts'
import {
  type RedisServer,
  redisServerInstalled,
  startRedisServer,
} from '../../../support/processes/stores/redis-server.ts'
import { openTestCache } from '../../../support/stores/redis-cache.ts'
import { address, expectTooMany, fail, limits, newAccount, newSecret, right, server, wrong } from './attempts.ts'

type Throttle = ReturnType<typeof server>

function describeLoginThrottle(name: string, open: () => Promise<Cache>): void {
  describe(`limits on guessing: ${name}`, () => {
    let cache: Cache
    beforeAll(async () => {
      cache = await open()
    })
    afterAll(() => cache.close())

    it('refuses after ten failures whoever knows the secret, and says for how long', async () => {
      const [loginThrottle, account] = [server(cache), newAccount()]
      await fail(loginThrottle, account, 9)
      expect(await loginThrottle.attempt({ account, address }, right)).toBe('right')
      await fail(loginThrottle, account, 1)
      const check = vi.fn(right)
      const refused = await loginThrottle.attempt({ account, address }, check).catch((error) => error)
      expect(refused).toMatchObject({ code: 'too-many-attempts' })
      expect(refused.retryAfterSeconds).toBeGreaterThan(890)
      expect(refused.retryAfterSeconds).toBeLessThanOrEqual(900)
      expect(check).not.toHaveBeenCalled()
    })

    it('forgets nothing, and counts together, while the secret is rotated', async () => {
      const account = newAccount()
      const [old, next] = [newSecret(), newSecret()]
      const rounds = [[old], [old, next], [next, old], [next]].map((secrets) => server(cache, { secrets }))
      const [before, first, second, after] = rounds as [Throttle, Throttle, Throttle, Throttle]
      await fail(before, account, 4)
      await fail(first, account, 3)
      await fail(second, account, 3)
      for (const loginThrottle of [before, first, second])
        await expectTooMany(loginThrottle.attempt({ account, address }, right))
      expect(await after.attempt({ account, address }, right)).toBe('right')
      await fail(after, account, 4)
      await expectTooMany(after.attempt({ account, address }, right))
    })

    it('never counts what was right, nor what could not be checked', async () => {
      const [loginThrottle, account] = [server(cache), newAccount()]
      const broken = () => Promise.reject(new Unavailable('hashing'))
      for (let time = 0; time < 30; time += 1) {
        expect(await loginThrottle.attempt({ account, address }, right)).toBe('right')
        await expect(loginThrottle.attempt({ account, address }, broken)).rejects.toThrow(Unavailable)
      }
      await fail(loginThrottle, account, 10)
      await expectTooMany(loginThrottle.attempt({ account, address }, right))
    })

    it('folds the case of account names', async () => {
      const [loginThrottle, account] = [server(cache), newAccount()]
      await fail(loginThrottle, account.toUpperCase(), 10)
      await expectTooMany(loginThrottle.attempt({ account: account.toLowerCase(), address }, right))
    })

    it('lets a stranger lock nobody out at another address', async () => {
      const [loginThrottle, account] = [server(cache), newAccount()]
      await fail(loginThrottle, account, 10, '2001:db8:bad::1')
      await expectTooMany(loginThrottle.attempt({ account, address: '2001:db8:bad::2:3:4' }, right))
      expect(await loginThrottle.attempt({ account, address: '2001:db8:bad:1::1' }, right)).toBe('right')
      expect(await loginThrottle.attempt({ account, address }, right)).toBe('right')
    })

    it('limits what one client tries on many accounts, also where none can be named', async () => {
      const loginThrottle = server(cache, { limits: { ...limits, perAddress: { count: 4, seconds: 60 } } })
      await fail(loginThrottle, newAccount(), 2)
      await fail(loginThrottle, newAccount(), 1)
      await loginThrottle.attempt({ account: undefined, address }, wrong)
      await expectTooMany(loginThrottle.attempt({ account: newAccount(), address }, right))
      await expectTooMany(loginThrottle.attempt({ account: undefined, address }, right))
      expect(await loginThrottle.attempt({ account: undefined, address: '192.0.2.2' }, right)).toBe('right')
    })

    it('counts by the address alone what can be no name', async () => {
      const loginThrottle = server(cache)
      for (const account of ['no name', 'x'.repeat(65), 'x'.repeat(250_000), '']) await fail(loginThrottle, account, 11)
      await expect(loginThrottle.attempt({ account: 'no name', address }, right)).resolves.toBe('right')
      await fail(loginThrottle, 'also no name', 100 - 44)
      await expectTooMany(loginThrottle.attempt({ account: 'no name', address }, right))
    })

    it('lets 200 attempts at once that are all right pass', async () => {
      const [loginThrottle, account] = [server(cache), newAccount()]
      let most = 0
      let now = 0
      const slow = async () => {
        most = Math.max(most, ++now)
        await sleep(1)
        now -= 1
        return 'right'
      }
      const attempts = Array.from({ length: 200 }, () => loginThrottle.attempt({ account, address }, slow))
      expect(new Set(await Promise.all(attempts))).toEqual(new Set(['right']))
      expect(most).toBe(10)
    })

    it('lets no more guesses through when they come at once, to several servers', async () => {
      const account = newAccount()
      const secrets = [newSecret()]
      const servers = [server(cache, { secrets }), server(cache, { secrets }), server(cache, { secrets })]
      let guessed = 0
      const guess = async () => {
        guessed += 1
        await sleep(5)
        return undefined
      }
      const attempts = Array.from({ length: 90 }, (_, at) => servers[at % 3]?.attempt({ account, address }, guess))
      const ends = await Promise.allSettled(attempts)
      expect(guessed).toBe(10)
      expect(ends.filter(({ status }) => status === 'fulfilled')).toHaveLength(10)
      for (const end of ends) if (end.status === 'rejected') expect(end.reason.code).toBe('too-many-attempts')
    })

    it('counts what was judged at once together with all else, and refuses it likewise', async () => {
      const [loginThrottle, account] = [server(cache), newAccount()]
      await fail(loginThrottle, account, 5)
      for (let time = 0; time < 4; time += 1) await loginThrottle.judge({ account, address }, false)
      for (let time = 0; time < 20; time += 1) await loginThrottle.judge({ account, address }, true)
      await loginThrottle.judge({ account, address }, false)
      await expectTooMany(loginThrottle.judge({ account, address }, true))
      await expectTooMany(loginThrottle.judge({ account, address }, false))
      await expectTooMany(loginThrottle.attempt({ account, address }, right))
    })

    it('lets any number of attempts that are judged right pass at once', async () => {
      const [loginThrottle, account] = [server(cache), newAccount()]
      await fail(loginThrottle, account, 9)
      const attempts = Array.from({ length: 200 }, () => loginThrottle.judge({ account, address }, true))
      await expect(Promise.all(attempts)).resolves.toHaveLength(200)
    })

    it('judges again what was just right once anything else was tried from there', async () => {
      const [account, secrets] = [newAccount(), [newSecret()]]
      const [here, elsewhere] = [server(cache, { secrets }), server(cache, { secrets })]
      await here.judge({ account, address }, true)
      expect(here.judge({ account, address }, true)).toBeUndefined()
      await fail(elsewhere, account, 10)
      here.noteTry({ account: newAccount(), address })
      await expectTooMany(here.judge({ account, address }, true))
      await expectTooMany(here.judge({ account, address }, true))
      // It says nothing of others.
      await here.judge({ account, address: '192.0.2.7' }, true)
      await fail(here, account, 1, '192.0.2.7')
      expect(here.judge({ account, address: '192.0.2.7' }, true)).toBeInstanceOf(Promise)
    })

    it('waits for the limits again a moment after something was right', async () => {
      const [account, secrets] = [newAccount(), [newSecret()]]
      const [here, elsewhere] = [server(cache, { secrets }), server(cache, { secrets })]
      await here.judge({ account, address }, true)
      await fail(elsewhere, account, 10)
      const refusal = async () =>
        expect(await Promise.resolve(here.judge({ account, address }, true)).catch((e) => e.code))
      await eventually(async () => (await refusal()).toBe('too-many-attempts'))
    })

    it('limits what all clients together try on an account, but not where its owner has logged in', async () => {
      const secrets = [newSecret()]
      const perAccountEverywhere = { count: 25, seconds: 600 }
      const options = { secrets, limits: { ...limits, perAccountEverywhere } }
      const servers = [server(cache, options), server(cache, options)] as const
      const account = newAccount()
      const [home, office] = ['2001:db8:77:1::1', '198.51.100.7']
      expect(await servers[0].attempt({ account, address: home }, right)).toBe('right')
      await servers[1].judge({ account, address: office }, true)
      for (let at = 0; at < 5; at += 1) await fail(servers[at % 2 ? 0 : 1], account, 5, `203.0.113.${at}`)
      for (const loginThrottle of servers) {
        await expectTooMany(loginThrottle.attempt({ account, address: '203.0.113.99' }, right))
        await expectTooMany(loginThrottle.judge({ account, address: '203.0.113.98' }, true))
        expect(await loginThrottle.attempt({ account, address: '2001:db8:77:1::2' }, right)).toBe('right')
        expect(await loginThrottle.attempt({ account, address: office }, right)).toBe('right')
        await loginThrottle.judge({ account, address: home }, true)
        expect(await loginThrottle.attempt({ account: newAccount(), address: '203.0.113.99' }, right)).toBe('right')
      }
      // Where the owner is, the usual limit holds.
      await fail(servers[0], account, 10, office)
      await expectTooMany(servers[1].attempt({ account, address: office }, right))
    })

    it('lets one client reach its own limit, however few all clients may fail together', async () => {
      const few = { ...limits, perAccountEverywhere: { count: 3, seconds: 3600 } }
      const [loginThrottle, account] = [server(cache, { limits: few }), newAccount()]
      await fail(loginThrottle, account, 9)
      expect(await loginThrottle.attempt({ account, address }, right)).toBe('right')
    })

    it('limits the client prefixes of one IPv6 site together, but not the one its owner uses', async () => {
      const small = { ...limits, perAccount: { count: 2, seconds: 600 }, perAddress: { count: 3, seconds: 600 } }
      const loginThrottle = server(cache, { limits: small })
      const [account, other] = [newAccount(), newAccount()]
      const owner = '2001:db8:48:ffff::1'
      expect(await loginThrottle.attempt({ account, address: owner }, right)).toBe('right')
      for (let at = 0; at < 8; at += 1) await fail(loginThrottle, account, 2, `2001:db8:48:${at}::1`)
      await expectTooMany(loginThrottle.attempt({ account, address: '2001:db8:48:aaaa::1' }, right))
      expect(await loginThrottle.attempt({ account: other, address: '2001:db8:48:aaaa::1' }, right)).toBe('right')
      for (let at = 0; at < 8; at += 1) await fail(loginThrottle, newAccount(), 1, `2001:db8:48:${at}::1`)
      await expectTooMany(loginThrottle.attempt({ account: newAccount(), address: '2001:db8:48:aaab::1' }, right))
      expect(await loginThrottle.attempt({ account: newAccount(), address: '2001:db8:49::1' }, right)).toBe('right')
      expect(await loginThrottle.attempt({ account, address: owner }, right)).toBe('right')
    })

    it('tells of no more guesses than it may when they are judged at once, by several servers', async () => {
      const account = newAccount()
      const secrets = [newSecret()]
      const servers = [server(cache, { secrets }), server(cache, { secrets })]
      const attempts = Array.from({ length: 60 }, (_, at) => servers[at % 2]?.judge({ account, address }, at === 59))
      const ends = await Promise.allSettled(attempts)
      expect(ends.filter(({ status }) => status === 'fulfilled')).toHaveLength(10)
      expect(ends.at(-1)).toMatchObject({ status: 'rejected', reason: { code: 'too-many-attempts' } })
    })

    it('lets attempts that are right pass on several servers at once', async () => {
      const account = newAccount()
      const secrets = [newSecret()]
      const servers = [server(cache, { secrets }), server(cache, { secrets })]
      await fail(servers[0] as Throttle, account, 8)
      const slow = () => sleep(2, 'right')
      const attempts = Array.from({ length: 40 }, (_, at) => servers[at % 2]?.attempt({ account, address }, slow))
      expect(new Set(await Promise.all(attempts))).toEqual(new Set(['right']))
    })

    it('begins again after the window', async () => {
      const loginThrottle = server(cache, { limits: { ...limits, perAccount: { count: 2, seconds: 2 } } })
      const account = newAccount()
      await fail(loginThrottle, account, 2)
      await expectTooMany(loginThrottle.attempt({ account, address }, right))
      await sleep(2_050)
      await fail(loginThrottle, account, 1)
      expect(await loginThrottle.attempt({ account, address }, right)).toBe('right')
    })

    it('sends those away who would wait too long, and counts nothing for them', async () => {
      const loginThrottle = server(cache, {
        limits: { ...limits, perAccount: { count: 1, seconds: 60 } },
      })
      const account = newAccount()
      const long = loginThrottle.attempt({ account, address }, () => sleep(300, 'right'))
      await expect(loginThrottle.attempt({ account, address, patienceMs: 50 }, right)).rejects.toThrow(Unavailable)
      expect(await long).toBe('right')
      expect(await loginThrottle.attempt({ account, address }, right)).toBe('right')
    })
  })
}

describeLoginThrottle('in this process', async () => createMemoryCache(systemClock))

const redisUrl = process.env.TEST_REDIS_URL
if (redisUrl === undefined) {
  it.skip('limits on guessing: Redis (TEST_REDIS_URL is not set)', () => undefined)
} else {
  describeLoginThrottle('Redis', async () => {
    const cache = openTestCache(redisUrl, { commandTimeoutMs: 5000 })
    await eventually(() => cache.ping())
    return cache
  })
}

const possible = redisUrl !== undefined && redisServerInstalled

describe.skipIf(!possible)('limits on guessing while Redis fails (needs TEST_REDIS_URL and redis-server)', () => {
  const closers: (() => Promise<unknown>)[] = []
  afterEach(async () => {
    for (const close of closers.splice(0).reverse()) await close()
  })

  async function open(): Promise<{ redis: RedisServer; caches: Cache[]; working: () => Promise<void> }> {
    const redis = await startRedisServer()
    closers.push(() => redis.dispose())
    const open = () => openTestCache(redis.url, { commandTimeoutMs: 1000 })
    const caches = [open(), open()]
    for (const cache of caches) closers.push(() => cache.close())
    const working = async () => {
      for (const cache of caches) await eventually(() => cache.ping())
    }
    await working()
    return { redis, caches, working }
  }

  it('holds each server to the limits, failures from before included', async () => {
    const { redis, caches, working } = await open()
    const servers = caches.map((cache) => server(cache, { secrets: ['shared'] })) as [Throttle, Throttle]
    const account = newAccount()
    await fail(servers[0], account, 6)
    await redis.kill()
    await fail(servers[0], account, 4)
    await expectTooMany(servers[0].attempt({ account, address }, right))
    expect(await servers[1].attempt({ account, address }, right)).toBe('right')
    await fail(servers[1], account, 3)
    await redis.start()
    await working()
    await expectTooMany(servers[0].attempt({ account, address }, right))
    await fail(servers[1], account, 7)
    await expectTooMany(servers[1].attempt({ account, address }, right))
  })

  it('keeps nobody waiting for a Redis that stands still', async () => {
    const { redis, caches } = await open()
    const loginThrottle = server(caches[0] as Cache)
    const account = newAccount()
    redis.pause()
    closers.push(async () => redis.resume())
    const started = performance.now()
    const attempts = Array.from({ length: 50 }, () => loginThrottle.attempt({ account, address }, right))
    expect(new Set(await Promise.all(attempts))).toEqual(new Set(['right']))
    expect(performance.now() - started).toBeLessThan(8000)
    await fail(loginThrottle, account, 10)
    await expectTooMany(loginThrottle.attempt({ account, address }, right))
  })

  it('forgets attempts that a server took with it when it died', async () => {
    const { redis, caches } = await open()
    const [dead, alive] = caches.map((cache) => server(cache, { secrets: ['shared'] })) as [Throttle, Throttle]
    const account = newAccount()
    for (let time = 0; time < 10; time += 1) void dead.attempt({ account, address }, () => new Promise(() => undefined))
    await eventually(() =>
      expect(alive.attempt({ account, address, patienceMs: 100 }, right)).rejects.toThrow(Unavailable),
    )
    for (const key of (await redis.command('KEYS', '*:in-flight')) as string[]) {
      // As long ago as the Redis server can tell.
      for (const flight of (await redis.command('ZRANGE', key, 0, -1)) as string[]) {
        await redis.command('ZADD', key, 1, flight)
      }
    }
    expect(await alive.attempt({ account, address }, right)).toBe('right')
  })

  it('writes no name and no address into Redis', async () => {
    const { redis, caches } = await open()
    const account = newAccount()
    await fail(server(caches[0] as Cache), account, 1)
    const keys = (await redis.command('KEYS', '*')) as string[]
    expect(keys).toHaveLength(3)
    expect(keys.join()).not.toMatch(new RegExp(`${account}|192\\.0\\.2`, 'i'))
  })
})
