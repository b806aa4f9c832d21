import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { Cache } from '../../../../shared/platform/cache/cache.ts'
import { eventually } from '../../../support/eventually.ts'
import { startSlowRelay } from '../../../support/processes/proxies/slow-relay.ts'
import {
  type RedisServer,
  redisServerInstalled,
  startRedisServer,
} from '../../../support/processes/stores/redis-server.ts'
import { openTestCache } from '../../../support/stores/redis-cache.ts'

const possible = process.env.TEST_REDIS_URL !== undefined && redisServerInstalled
const [key, otherKey, channel] = ['alice', 'bob', 'channel'].map((name) => `{keyhold:all}:test:${name}`) as [
  string,
  string,
  string,
]
const entry = { version: 5, value: 'what a server wrote' }
const ttlSeconds = 60
/** A long wait for an answer only says that the machine is busy. */
const commandTimeoutMs = 5_000

let redis: RedisServer
let cache: Cache
let forgeries: string[]

describe.skipIf(!possible)('what others write to Redis (needs TEST_REDIS_URL and redis-server)', () => {
  beforeAll(async () => {
    redis = await startRedisServer()
    cache = openTestCache(redis.url, { commandTimeoutMs, onForgery: (what) => forgeries.push(what) })
    await eventually(() => cache.ping())
  })

  afterAll(async () => {
    await cache.close()
    await redis.dispose()
  })

  beforeEach(async () => {
    forgeries = []
    await redis.command('FLUSHALL')
    await cache.putVersioned(key, entry, { ttlSeconds })
  })

  const stored = async () => String(await redis.command('GET', key))

  it.each(['', 'a text', '/ 5 x', 'run/ 5 x'])('is no entry, and no error: %j', async (text) => {
    await redis.command('SET', key, text)
    expect(await cache.getVersioned(key)).toBeUndefined()
    expect(await cache.putVersioned(key, { version: 1, value: 'low' }, { ttlSeconds, ifAbsent: true })).toBe(true)
  })

  it.each([
    ['another value', (text: string) => text.replace('server', 'thief!')],
    ['a higher version', (text: string) => text.replace(' 5 ', ' 9007199254740991 ')],
    ['no HMAC', (text: string) => text.replace(/ 5 .*/, ' 5 what a server wrote')],
    ['a version that is no number of ours', (text: string) => text.replace(' 5 ', ` ${'9'.repeat(400)} `)],
    [
      'bytes that are no text',
      (text: string) => Buffer.concat([Buffer.from(text.slice(0, -5)), Buffer.from([0xff, 0])]),
    ],
  ])('is no entry, and makes room for one of any version: %s', async (_what, forge) => {
    const forged = forge(await stored())
    await redis.command('SET', key, forged as string)
    expect(await cache.getVersioned(key)).toBeUndefined()
    expect(forgeries).toEqual(['entry'])
    expect(await cache.putVersioned(key, { version: 1, value: 'low' }, { ttlSeconds, ifAbsent: true })).toBe(true)
    expect(await cache.getVersioned(key)).toEqual({ version: 1, value: 'low' })
  })

  it('is no entry when it was copied from another key', async () => {
    await redis.command('COPY', key, otherKey)
    expect(await cache.getVersioned(otherKey)).toBeUndefined()
    expect(await cache.getVersioned(key)).toEqual(entry)
    expect(forgeries).toEqual(['entry'])
  })

  it('is no entry when it is not even a text', async () => {
    await redis.command('DEL', key)
    await redis.command('RPUSH', key, 'a', 'b')
    await expect(cache.getVersioned(key)).rejects.toMatchObject({ dependency: 'cache' })
  })

  it('is no message: neither one of their own nor one that was sent before', async () => {
    const recorded: string[] = []
    const thief = new Redis(redis.port, '127.0.0.1')
    thief.on('message', (_channel, text) => recorded.push(text))
    await thief.subscribe(channel)
    const heard: string[] = []
    const leave = await cache.subscribe(channel, (message) => heard.push(message))
    const publish = async (message: string) =>
      cache.publish(channel, message, { since: await cache.time(), maxAgeMs: 5_000 })
    await eventually(async () => {
      await publish('first')
      await sleep(20)
      expect(heard).not.toEqual([])
    })
    const before = heard.length
    await eventually(() => expect(recorded.length).toBeGreaterThanOrEqual(before))
    const injected = [...recorded, 'first', '{"after":0}']
    thief.disconnect()
    for (const text of injected) await redis.command('PUBLISH', channel, text)
    await publish('last')
    await eventually(() => expect(heard).toContain('last'))
    expect(heard).toEqual([...Array(before).fill('first'), 'last'])
    expect(forgeries).toEqual(injected.map(() => 'message'))
    await leave()
  })
})

describe.skipIf(!possible)('a connection to Redis (needs TEST_REDIS_URL and redis-server)', () => {
  it('says how long a message may have been on its way, and that it is silent when nothing answers for a while', async () => {
    const server = await startRedisServer()
    const relay = await startSlowRelay(server.port)
    const [reader, writer] = [relay.port, server.port].map((port) =>
      openTestCache(`redis://127.0.0.1:${port}`, { commandTimeoutMs }),
    ) as [Cache, Cache]
    const heldUp: number[] = []
    await eventually(() => Promise.all([reader.ping(), writer.ping()]))
    await reader.subscribe(channel, (_message, milliseconds) => heldUp.push(milliseconds))
    const publish = async () => {
      heldUp.length = 0
      await writer.publish(channel, 'x', { since: await writer.time(), maxAgeMs: 5_000 })
      await eventually(() => expect(heldUp).toHaveLength(1))
      return heldUp[0]
    }
    await eventually(async () => expect(await publish()).toBeLessThan(250))
    expect(reader.isSilent()).toBe(false)
    relay.slowDown(600)
    expect(await publish()).toBeGreaterThan(590)
    await eventually(() => expect(reader.isSilent()).toBe(true))
    relay.slowDown(0)
    await eventually(() => expect(reader.isSilent()).toBe(false))
    await eventually(async () => expect(await publish()).toBeLessThan(250))
    await Promise.all([reader.close(), writer.close()])
    await relay.close()
    await server.dispose()
  })
})
