import { spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { afterAll, expect, it } from 'vitest'
import { redisRights } from '../../../auth-server/cli/offline/redis-acl.ts'
import type { Cache } from '../../../shared/platform/cache/cache.ts'
import { compiled } from '../../support/processes/compiled.ts'
import { redisServerInstalled, startRedisServer } from '../../support/processes/stores/redis-server.ts'
import { openTestCache } from '../../support/stores/redis-cache.ts'

const folder = mkdtempSync(join(tmpdir(), 'keyhold-secrets-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const script = compiled('auth-server/cli/offline/init-secrets.ts')
const run = (...parameters: string[]) => spawnSync(process.execPath, [script, ...parameters], { encoding: 'utf8' })

const read = (file: string) => readFileSync(join(folder, file), 'utf8')
const mode = (file: string) => (statSync(join(folder, file)).mode & 0o777).toString(8)
const files = () =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))

it('makes keys and secrets once, and completes what a run that was cut off left', () => {
  expect(run(folder, 'postgres:5432', 'redis:6379').status).toBe(0)
  const first = new Map(files().map((file) => [file, read(file)]))
  expect(first.get('deal/SERVICE_SECRET')).toBe(first.get('auth/SERVICE_SECRET'))
  const authUrl = `postgres://auth:${first.get('database/AUTH_PASSWORD')}@postgres:5432/auth`
  expect(first.get('auth/AUTH_DATABASE_URL')).toBe(authUrl)
  expect(first.get('deal/DEAL_DATABASE_URL')).toContain(first.get('database/DEALS_PASSWORD'))
  expect([...first.keys()].filter((file) => file.startsWith('auth/keys/'))).toHaveLength(3)
  expect(first.get('auth/REDIS_URL')).toMatch(/^redis:\/\/keyhold:[\w-]{43}@redis:6379$/)
  expect(first.get('deal/REDIS_URL')).toBe(first.get('auth/REDIS_URL'))

  rmSync(join(folder, 'deal/SERVICE_SECRET'))
  expect(run(folder, 'elsewhere:5432', 'elsewhere:6379').status).toBe(0)
  expect(new Map(files().map((file) => [file, read(file)]))).toEqual(first)
})

it("leaves each server's secrets to their owner, and those of the database and of Redis to whoever is shown their folder", () => {
  expect(mode('auth')).toBe('700')
  for (const file of files())
    expect([file, mode(file)]).toEqual([file, /^(database|redis)\//.test(file) ? '444' : '600'])
})

it.skipIf(!redisServerInstalled)(
  'gives Redis users of whom the servers may do what they need, and nobody else anything',
  async () => {
    const acl = join(folder, 'redis/users.acl')
    const redis = await startRedisServer(['--aclfile', acl], `operator:${read('redis/OPERATOR_PASSWORD')}`)
    const { username, password } = new URL(read('deal/REDIS_URL'))
    const address = `redis://${username}:${password}@127.0.0.1:${redis.port}`
    const cache = openTestCache(address, { commandTimeoutMs: 5000 })
    await expect
      .poll(() =>
        cache.ping().then(
          () => true,
          () => false,
        ),
      )
      .toBe(true)
    await useAll(cache)
    await cache.close()

    const servers = new Redis(address, { retryStrategy: null })
    const nobody = new Redis(redis.port, '127.0.0.1', { protocol: 2, retryStrategy: null, enableReadyCheck: false })
    const refused = [
      ['get', 'a-key-of-others'],
      ['set', 'a-key-of-others', 'x'],
      ['publish', 'a-channel-of-others', 'x'],
      ['subscribe', 'a-channel-of-others'],
      ['keys', '*'],
      ['scan', '0'],
      ['flushall'],
      ['config', 'get', '*'],
      ['acl', 'list'],
      ['monitor'],
      ['eval', "return redis.call('GET', 'a-key-of-others')", '0'],
    ] as const
    for (const [name, ...parameters] of refused)
      await expect(servers.call(name, ...parameters), name).rejects.toThrow(/NOPERM|permission|can't access/)
    await expect(nobody.get('{keyhold:all}:x')).rejects.toThrow(/NOAUTH|permission/)
    for (const client of [servers, nobody]) client.disconnect()
    expect(await redis.command('ACL', 'WHOAMI')).toBe('operator')
    await redis.dispose()
  },
)

/** Everything that a cache is used for. */
async function useAll(cache: Cache): Promise<void> {
  const key = '{keyhold:all}:instance:entry'
  const heard: string[] = []
  const end = await cache.subscribe('{keyhold:all}:instance:channel', (message) => heard.push(message))
  await expect
    .poll(async () => {
      const since = await cache.time()
      await cache.publish('{keyhold:all}:instance:channel', 'said', { since, maxAgeMs: 10_000 })
      return heard
    })
    .toContain('said')
  await end()
  expect(await cache.putVersioned(key, { version: 1, value: 'one' }, { ttlSeconds: 60 })).toBe(true)
  expect(await cache.getVersioned(key)).toEqual({ version: 1, value: 'one' })
  await cache.startNumbers(`${key}:numbers`, { number: 1, ttlSeconds: 60 })
  expect(await cache.useNumber(`${key}:numbers`, { number: 2, ttlSeconds: 60 })).toBe('used')
  const keys = [{ key: `${key}:attempts`, limit: { count: 3, seconds: 60 } }]
  expect(await cache.beginAttempt(keys, 'attempt')).toEqual({ state: 'allowed' })
  await cache.endAttempt(keys, { id: 'attempt', failed: true })
  expect(await cache.allowsAttempt(keys)).toEqual({ state: 'allowed' })
}

it('gives them what docs/operations/stores.md says', () => {
  const page = readFileSync(join(import.meta.dirname, '../../../docs/operations/stores.md'), 'utf8')
  expect(page).toContain(redisRights)
  expect(read('redis/users.acl')).toContain(` ${redisRights}\n`)
})

it('says how it is used', () => {
  const { status, stderr } = run(folder)
  expect([status, stderr]).toEqual([2, 'Usage: init-secrets FOLDER DATABASE_HOST REDIS_HOST\n'])
})
