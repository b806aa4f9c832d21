/** What servers under test keep their data in, and suites that run over each of them. */
import { describe } from 'vitest'
import type { Cache } from '../../../shared/platform/cache/cache.ts'
import { createMemoryCache } from '../../../shared/platform/cache/memory-cache.ts'
import { systemClock } from '../../../shared/platform/clock.ts'
import type { Database } from '../../../shared/platform/database/database.ts'
import { openPostgres } from '../../../shared/platform/postgres/postgres.ts'
import { openCache } from '../../../shared/platform/redis/open-cache.ts'
import type { Mode } from '../../../shared/server/settings/common-settings.ts'
import { ranEmbedded } from '../campaign.ts'
import { type RedisServer, redisServerInstalled, startRedisServer } from '../processes/stores/redis-server.ts'
import { openMigratedEngine } from './migrated-engine.ts'
import { cacheSecret, openTestCache } from './redis-cache.ts'
import { createScratchDatabase, type ScratchDatabase } from './scratch-database.ts'

/** The data of one stack of servers: empty at first, gone when closed. */
export interface Backend {
  readonly mode: Mode
  /** The settings that lead there. */
  readonly environment: Readonly<Record<string, string>>
  /** A database as one more server opens it. */
  openDatabase(): Database
  /** The cache as one more server opens it, by its SERVICE_SECRET: all that it accepts. */
  openCache(secrets?: readonly string[]): Cache
  /** To be stopped and started; undefined where the cache is in this process. */
  readonly redis: RedisServer | undefined
  /** Call it when all that was opened has been closed. */
  close(): Promise<void>
}

export type OpenBackend = () => Promise<Backend>

/** The defaults of `npm start`, in memory. */
export async function openEmbedded(): Promise<Backend> {
  const engine = await openMigratedEngine()
  const cache = createMemoryCache(systemClock)
  const shared: Cache = {
    useNumber: (...args) => cache.useNumber(...args),
    startNumbers: (...args) => cache.startNumbers(...args),
    beginAttempt: (...args) => cache.beginAttempt(...args),
    endAttempt: (...args) => cache.endAttempt(...args),
    allowsAttempt: (...args) => cache.allowsAttempt(...args),
    putVersioned: (...args) => cache.putVersioned(...args),
    getVersioned: (...args) => cache.getVersioned(...args),
    time: () => cache.time(),
    publish: (...args) => cache.publish(...args),
    subscribe: (...args) => cache.subscribe(...args),
    isSilent: () => cache.isSilent(),
    listening: () => cache.listening(),
    ping: () => cache.ping(),
    close: async () => undefined,
  }
  return {
    mode: 'together',
    environment: {},
    openDatabase: () => engine.database(),
    openCache: () => shared,
    redis: undefined,
    close: async () => {
      await cache.close()
      await engine.close()
    },
  }
}

/** The embedded database, and no Redis on purpose: each server has a cache of its own, as processes do. */
export const openWithoutRedis = async (): Promise<Backend> => ({
  ...(await openEmbedded()),
  mode: 'alone',
  environment: { AUTH_DATABASE_URL: 'postgres://here', DEAL_DATABASE_URL: 'postgres://here', REDIS_URL: 'none' },
  openCache: () => openCache({ redisUrl: 'none', clock: systemClock, secrets: [cacheSecret] }),
})

/**
 * A database of its own on the PostgreSQL server of `serverUrl`, and a Redis server of its own: channels have no name
 * space.
 */
export const openPostgresAndRedis = async (serverUrl: string): Promise<Backend> =>
  backendOver(await createScratchDatabase(serverUrl))

/** This database, and a Redis server of its own. */
export async function backendOver(scratch: ScratchDatabase): Promise<Backend> {
  const redis = await startRedisServer()
  return {
    mode: 'alone',
    environment: { AUTH_DATABASE_URL: scratch.url, DEAL_DATABASE_URL: scratch.url, REDIS_URL: redis.restrictedUrl },
    openDatabase: () => openPostgres(scratch.url),
    // A long wait for an answer only says that the machine is busy; a Redis that is away is noticed at once.
    openCache: (secrets = [cacheSecret]) => openTestCache(redis.restrictedUrl, { secrets, commandTimeoutMs: 1000 }),
    redis,
    close: async () => {
      await redis.dispose()
      await scratch.drop()
    },
  }
}

const { TEST_DATABASE_URL: databaseUrl, TEST_REDIS_URL: redisUrl } = process.env

/** Why suites over PostgreSQL and Redis cannot run here; undefined when they can. */
const missing =
  databaseUrl === undefined || redisUrl === undefined
    ? 'TEST_DATABASE_URL and TEST_REDIS_URL are not both set'
    : redisServerInstalled
      ? undefined
      : 'redis-server is not installed'

/** Runs a suite over the embedded defaults. */
export function describeEmbedded(name: string, suite: (open: OpenBackend) => void): void {
  describe.skipIf(ranEmbedded)(`${name} (embedded)`, () => suite(openEmbedded))
}

/** Runs a suite over PostgreSQL and Redis, or skips it by name. */
export function describePostgresAndRedis(name: string, suite: (open: OpenBackend) => void): void {
  const title = `${name} (PostgreSQL and Redis)`
  if (missing === undefined) describe(title, () => suite(() => openPostgresAndRedis(databaseUrl ?? '')))
  else describe.skip(`${title}: ${missing}`, () => suite(openEmbedded))
}

/** Runs a suite over both: for what the database, the cache or the freshness of records has a part in. */
export function describeBackends(name: string, suite: (open: OpenBackend) => void): void {
  describeEmbedded(name, suite)
  describePostgresAndRedis(name, suite)
}

/**
 * Runs a suite over one of them: for what none of these has a part in. PostgreSQL and Redis, which take half of the
 * processor time, where they are; else the embedded defaults.
 */
export function describeOnce(name: string, suite: (open: OpenBackend) => void): void {
  const describeThere = missing === undefined ? describePostgresAndRedis : describeEmbedded
  describeThere(name, suite)
}
