import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { redisRights } from '../../../../auth-server/cli/offline/redis-acl.ts'
import { type Cache, cacheKey } from '../../../../shared/platform/cache/cache.ts'
import { Unavailable } from '../../../../shared/platform/problems/errors.ts'
import { deadAfterMs } from '../../../../shared/platform/redis/redis-connections.ts'
import { eventually } from '../../../support/eventually.ts'
import { startFreezableProxy } from '../../../support/processes/proxies/freezable-proxy.ts'
import {
  type RedisServer,
  redisServerInstalled,
  startRedisServer,
} from '../../../support/processes/stores/redis-server.ts'
import { openTestCache } from '../../../support/stores/redis-cache.ts'

const possible = process.env.TEST_REDIS_URL !== undefined && redisServerInstalled
const [key, channel] = [cacheKey('test:key'), cacheKey('test:channel')]
const ttlSeconds = 60
const maxAgeMs = 500

/**
 * How long a call may take to fail: the time-out of commands and much room for a busy machine, but no other time-out.
 */
const failureMs = deadAfterMs - 100

/** Before the time-out of commands: nobody has waited for an answer. */
const atOnceMs = 250

const closers: (() => Promise<unknown>)[] = []
const rejections: unknown[] = []
const onRejection = (reason: unknown): void => void rejections.push(reason)

function open(url: string): Cache {
  const cache = openTestCache(url)
  closers.push(() => cache.close())
  return cache
}

async function server(): Promise<RedisServer> {
  const started = await startRedisServer()
  closers.push(() => started.dispose())
  return started
}

const limited = { key, limit: { count: 1, seconds: 1 } }

/** Every operation of the cache fails as Unavailable; returns how long the slowest took, in milliseconds. */
async function slowestFailure(cache: Cache): Promise<number> {
  const start = performance.now()
  const since = 'x:1'
  const answers = await Promise.allSettled([
    cache.ping(),
    cache.time(),
    cache.getVersioned(key),
    cache.useNumber(key, { number: 1, ttlSeconds }),
    cache.startNumbers(key, { number: 1, ttlSeconds }),
    cache.beginAttempt([limited], 'a'),
    cache.endAttempt([limited], { id: 'a', failed: true }),
    cache.allowsAttempt([limited]),
    cache.putVersioned(key, { version: 1, value: 'x' }, { ttlSeconds }),
    cache.publish(channel, 'x', { since, maxAgeMs }),
  ])
  for (const answer of answers) {
    expect(answer).toMatchObject({ status: 'rejected', reason: expect.any(Unavailable) })
    expect(answer).toMatchObject({ reason: { dependency: 'cache' } })
  }
  return performance.now() - start
}

const working = (cache: Cache) => eventually(() => cache.ping())

/** Far above the time between two attempts to connect, on a machine under load. */
const recoveryMs = 5_000

async function publish(cache: Cache, message: string): Promise<boolean> {
  return cache.publish(channel, message, { since: await cache.time(), maxAgeMs })
}

/** Publishes until the listener hears it. */
async function heardAgain(cache: Cache, heard: string[]): Promise<void> {
  const message = `back ${Math.random()}`
  const attempt = async () => {
    await publish(cache, message)
    await sleep(20)
    expect(heard).toContain(message)
  }
  await eventually(attempt)
}

beforeEach(() => {
  process.on('unhandledRejection', onRejection)
})

afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close()
  await sleep(10)
  process.off('unhandledRejection', onRejection)
  expect(rejections.splice(0)).toEqual([])
})

describe.skipIf(!possible)('a Redis server that fails (needs TEST_REDIS_URL and redis-server)', () => {
  it('never works on another database than the address names', async () => {
    const { url, command } = await server()
    const cache = open(`${url}/99`)
    const put = () => cache.putVersioned(key, { version: 1, value: 'x' }, { ttlSeconds })
    await eventually(async () =>
      expect(String((await put().catch((error) => error.cause))?.message)).toContain('DB index'),
    )
    for (let attempt = 0; attempt < 100; attempt += 1) await expect(put()).rejects.toThrow(Unavailable)
    expect(await command('DBSIZE')).toBe(0)
  })

  it('makes every call unavailable at once while it is down, and works again soon after its return', async () => {
    const redis = await server()
    await redis.kill()
    const cache = open(redis.url)
    expect(await slowestFailure(cache)).toBeLessThan(failureMs)
    await sleep(1500)
    expect(await slowestFailure(cache)).toBeLessThan(atOnceMs)
    await redis.start()
    const start = performance.now()
    await working(cache)
    expect(performance.now() - start).toBeLessThan(recoveryMs)
    await redis.kill()
    await eventually(async () => expect(await slowestFailure(cache)).toBeLessThan(atOnceMs))
    await redis.start()
    await working(cache)
    expect(await cache.putVersioned(key, { version: 1, value: 'x' }, { ttlSeconds })).toBe(true)
  })

  it('gives the reason of an outage without the value that was to be stored', async () => {
    const redis = await server()
    await redis.command('CONFIG', 'SET', 'requirepass', 'right-password')
    const cache = open(redis.url.replace('redis://', 'redis://:wrong-s3cret@'))
    const reason = async (): Promise<Error> =>
      cache.putVersioned(key, { version: 1, value: 'value-s3cret' }, { ttlSeconds }).then(
        () => expect.fail('the password is wrong'),
        ({ cause }) => cause,
      )
    await eventually(async () => expect((await reason()).message).toMatch(/WRONGPASS/))
    expect(JSON.stringify({ ...(await reason()) })).not.toContain('s3cret')
    expect((await reason()).message).not.toContain('s3cret')
  })

  it('has no entries after a restart from an old dump, and takes lower versions than they had', async () => {
    const redis = await server()
    const cache = open(redis.url)
    await working(cache)
    await cache.putVersioned(key, { version: 7, value: 'dumped' }, { ttlSeconds })
    await redis.command('SAVE')
    await cache.putVersioned(key, { version: 8, value: 'newer than the dump' }, { ttlSeconds })
    await redis.kill()
    await redis.start()
    await working(cache)
    expect(await redis.command('EXISTS', key)).toBe(1)
    expect(await cache.getVersioned(key)).toBeUndefined()
    expect(await cache.putVersioned(key, { version: 1, value: 'low' }, { ttlSeconds, ifAbsent: true })).toBe(true)
    expect(await cache.getVersioned(key)).toEqual({ version: 1, value: 'low' })
  })

  it('refuses moments taken before a restart', async () => {
    const redis = await server()
    const cache = open(redis.url)
    await working(cache)
    const since = await cache.time()
    await redis.kill()
    await redis.start()
    await working(cache)
    expect(await cache.putVersioned(key, { version: 1, value: 'x' }, { ttlSeconds, since })).toBe(false)
    expect(await cache.publish(channel, 'x', { since, maxAgeMs: 60_000 })).toBe(false)
  })

  it('ignores entries of a master from before it was a replica', async () => {
    const [first, second] = [await server(), await server()]
    const cache = open(first.url)
    await follow(second, first)
    await working(cache)
    const since = await cache.time()
    await cache.putVersioned(key, { version: 5, value: 'first reign' }, { ttlSeconds })
    await replicated(second, 'first reign')
    await second.command('REPLICAOF', 'NO', 'ONE')
    await follow(first, second)
    await first.command('REPLICAOF', 'NO', 'ONE')
    await working(cache)
    expect(await first.command('GET', key)).toContain('first reign')
    expect(await cache.getVersioned(key)).toBeUndefined()
    expect(await cache.putVersioned(key, { version: 6, value: 'x' }, { ttlSeconds, since })).toBe(false)
  })

  it('ignores entries of the master on its replica', async () => {
    const [master, replica] = [await server(), await server()]
    const [cache, reader] = [open(master.url), open(replica.url)]
    await follow(replica, master)
    await working(cache)
    await working(reader)
    await cache.putVersioned(key, { version: 5, value: 'master' }, { ttlSeconds })
    await replicated(replica, 'master')
    expect(await reader.getVersioned(key)).toBeUndefined()
    await expect(reader.putVersioned(key, { version: 6, value: 'x' }, { ttlSeconds })).rejects.toThrow(Unavailable)
  })

  it('leaves subscribers in place across a restart', async () => {
    const redis = await server()
    const [reader, writer] = [open(redis.url), open(redis.url)]
    const heard: string[] = []
    await working(writer)
    await reader.subscribe(channel, (message) => heard.push(message))
    expect(await publish(writer, 'before')).toBe(true)
    await eventually(() => expect(heard).toEqual(['before']))
    await redis.kill()
    await redis.start()
    await heardAgain(writer, heard)
  })

  it('tells of which time the subscriptions have got every message', async () => {
    const redis = await server()
    const reader = open(redis.url)
    expect(reader.listening()).toBeUndefined()
    await working(reader)
    const before = performance.now()
    await reader.subscribe(channel, () => undefined)
    const first = await eventually(() => reader.listening() ?? expect.unreachable('it is subscribed'))
    expect(first.since).toBeGreaterThan(before)
    await eventually(() => expect(reader.listening()?.until).toBeGreaterThan(first.since))
    expect(reader.listening()?.since).toBe(first.since)
    const killedAt = performance.now()
    await redis.command('CLIENT', 'KILL', 'TYPE', 'pubsub')
    await eventually(() => expect(reader.listening()?.since).toBeGreaterThan(killedAt))
  })

  it('lets subscribe and its undoing resolve while it is down, and delivers once it is back', async () => {
    const redis = await server()
    await redis.kill()
    const cache = open(redis.url)
    const [heard, left]: [string[], string[]] = [[], []]
    const start = performance.now()
    await cache.subscribe(channel, (message) => heard.push(message))
    const leave = await cache.subscribe(channel, (message) => left.push(message))
    await leave()
    expect(performance.now() - start).toBeLessThan(failureMs)
    await redis.start()
    await heardAgain(cache, heard)
    expect(left).toEqual([])
  })

  it('makes every call unavailable while Redis is paused, and works again afterwards', async () => {
    const redis = await server()
    const cache = open(redis.url)
    await working(cache)
    redis.pause()
    for (let round = 0; round < 6; round++) expect(await slowestFailure(cache)).toBeLessThan(failureMs)
    await sleep(1000)
    redis.resume()
    await working(cache)
  })

  it('lets subscribe resolve while Redis is paused', async () => {
    const redis = await server()
    const cache = open(redis.url)
    redis.pause()
    const start = performance.now()
    await cache.subscribe(channel, () => undefined)
    expect(performance.now() - start).toBeLessThan(failureMs)
    redis.resume()
  })

  it.each([700, 1700])('does not deliver what was published while it stood still for %d ms', async (pauseMs) => {
    const redis = await server()
    const [reader, writer] = [open(redis.url), open(redis.url)]
    const heard: string[] = []
    await working(writer)
    await reader.subscribe(channel, (message) => heard.push(message))
    const since = await writer.time()
    const before = await callsOf(redis, 'eval(?:sha)?')
    redis.pause()
    await expect(writer.publish(channel, 'held up', { since, maxAgeMs })).rejects.toThrow(Unavailable)
    await sleep(pauseMs - 300)
    redis.resume()
    await eventually(async () => expect(await callsOf(redis, 'eval(?:sha)?')).toBeGreaterThan(before))
    expect(await callsOf(redis, 'publish')).toBe(0)
    await heardAgain(writer, heard)
    expect(heard).not.toContain('held up')
  })

  it('is noticed when its connections go silent, and replaced by new ones', async () => {
    const redis = await server()
    const proxy = await startFreezableProxy(redis.port)
    closers.push(() => proxy.close())
    const [reader, writer] = [open(proxy.url), open(redis.url)]
    const heard: string[] = []
    await working(reader)
    await working(writer)
    await reader.subscribe(channel, (message) => heard.push(message))
    await heardAgain(writer, heard)
    proxy.freeze()
    await expect(reader.ping()).rejects.toThrow(Unavailable)
    await heardAgain(writer, heard)
    await working(reader)
  })

  it('is subscribed to again even when connections are lost before it answers the subscription', async () => {
    const redis = await server()
    const proxy = await startFreezableProxy(redis.port)
    closers.push(() => proxy.close())
    const [reader, writer] = [open(proxy.url), open(redis.url)]
    const heard: string[] = []
    await working(writer)
    await reader.subscribe(channel, (message) => heard.push(message))
    proxy.cutOn('subscribe', 3)
    await redis.command('CLIENT', 'KILL', 'TYPE', 'pubsub')
    await heardAgain(writer, heard)
    expect(proxy.cuts()).toBe(3)
  })
})

describe.skipIf(!possible)('a node of a Redis Cluster (needs TEST_REDIS_URL and redis-server)', () => {
  it.each(['', '/1'])(
    'is not used, also when it has all slots, and one line says what to name (%j)',
    async (database) => {
      const node = await startRedisServer(['--cluster-enabled', 'yes'])
      closers.push(() => node.dispose())
      await node.command('CLUSTER', 'ADDSLOTSRANGE', 0, 16383)
      const said: string[] = []
      const cache = openTestCache(node.url + database, { onAdvice: (sentence) => said.push(sentence) })
      closers.push(() => cache.close())
      await eventually(() =>
        expect(said).toEqual([expect.stringMatching(/^this is a node of a Redis Cluster, .*name one Redis/)]),
      )
      await cache.subscribe(channel, () => expect.unreachable('it is not used'))
      await sleep(1_500)
      expect(await slowestFailure(cache)).toBeLessThan(atOnceMs)
      const cause = await cache.ping().catch((error) => error.cause)
      expect(cause.message).toMatch(/^this is a node of a Redis Cluster/)
      expect(cache.listening()).toBeUndefined()
      expect(await node.command('DBSIZE')).toBe(0)
      expect(said).toHaveLength(1)
    },
  )
})

describe.skipIf(!possible)('a user of Redis with too few rights (needs TEST_REDIS_URL and redis-server)', () => {
  it.each([
    ['the keys and the channels', [' ~{keyhold:*}:*', ' &{keyhold:*}:*'], false],
    ['the channels alone', [' &{keyhold:*}:*'], true],
  ])(
    'is told once of the line with all rights, however often it is tried: without %s',
    async (_name, parts, answers) => {
      const { port, command } = await server()
      const rights = parts.reduce((line, part) => line.replace(part, ''), redisRights)
      await command('ACL', 'SETUSER', 'former', 'on', '>of-former', ...rights.split(' '))
      const said: string[] = []
      const options = { onAdvice: (sentence: string) => said.push(sentence) }
      const cache = openTestCache(`redis://former:of-former@127.0.0.1:${port}`, options)
      closers.push(() => cache.close())
      await cache.subscribe(channel, () => undefined)
      for (let count = 0; count < 20; count += 1) {
        await cache.ping().catch(() => undefined)
        await sleep(50)
      }
      if (answers) await cache.ping()
      else
        await expect(cache.ping()).rejects.toMatchObject({
          cause: { message: expect.stringMatching(/NOPERM|permission/i) },
        })
      expect(said).toEqual([expect.stringMatching(/lacks a right: docs\/operations\/stores\.md#redis has the line/)])
    },
  )
})

/** How often the server has run the commands whose names match `pattern`. */
async function callsOf(redis: RedisServer, pattern: string): Promise<number> {
  const stats = String(await redis.command('INFO', 'commandstats'))
  const found = stats.matchAll(new RegExp(`cmdstat_${pattern}:calls=(\\d+)`, 'g'))
  return [...found].reduce((sum, [, calls]) => sum + Number(calls), 0)
}

async function replicated(replica: RedisServer, value: string): Promise<void> {
  const arrived = async () => expect(String(await replica.command('GET', key))).toContain(value)
  await eventually(arrived)
}

async function follow(replica: RedisServer, master: RedisServer): Promise<void> {
  await replica.command('REPLICAOF', '127.0.0.1', master.port)
  const inStep = async () => expect(await replica.command('INFO', 'replication')).toContain('master_link_status:up')
  await eventually(inStep)
}
