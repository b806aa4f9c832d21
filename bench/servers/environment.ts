/** The environment of the benchmark: its own database on a real PostgreSQL, and a Redis that no other Keyhold uses. */
import { Redis } from 'ioredis'
import postgres from 'postgres'
import { parseRedisUrl } from '../../shared/platform/redis/redis-url.ts'
import { feedChannel } from '../../shared/protocol/principal/change-feed.ts'
import { createScratchDatabase, type ScratchDatabase } from '../../test/support/stores/scratch-database.ts'
import type { Settings } from '../runner/settings.ts'
import { portsFrom } from './processes.ts'
import { findServices, type Services } from './services.ts'

/** The databases and the Redis of the benchmark. */
export interface Environment {
  /** For the floors, which have tables of their own. */
  readonly floors: ScratchDatabase
  /** A new database, which is dropped at the end. */
  newDatabase(): Promise<ScratchDatabase>
  readonly redisUrl: string
  /** What PostgreSQL and Redis have used so far; nothing when they run on another machine. */
  readonly services: Services
  /** A free port. */
  newPort(): Promise<number>
  close(): Promise<void>
}

/** Thrown when the benchmark cannot run here. The message says what to do. */
export class NotPossible extends Error {
  override readonly name = 'NotPossible'
}

/** Checks both servers and creates the databases. @throws NotPossible */
export async function openEnvironment({ databaseUrl, redisUrl, firstPort }: Settings): Promise<Environment> {
  await requirePostgres(databaseUrl)
  await requireUnusedRedis(redisUrl)
  const services = await findServices({ databaseUrl, redisUrl })
  const databases: ScratchDatabase[] = []
  const newDatabase = async () => {
    const database = await createScratchDatabase(databaseUrl)
    databases.push(database)
    return database
  }
  const close = async () => {
    for (const database of databases) await database.drop()
  }
  const floors = await newDatabase()
  return { floors, newDatabase, redisUrl, services, newPort: portsFrom(firstPort), close }
}

async function requirePostgres(url: string): Promise<void> {
  const client = postgres(url, { max: 1, connect_timeout: 3, onnotice: () => {} })
  try {
    const [row] = await client`select current_setting('server_version_num')::int as version`
    if (row?.version < 150_000) throw new NotPossible('BENCH_DATABASE_URL: PostgreSQL 15 or newer is needed.')
  } catch (error) {
    if (error instanceof NotPossible) throw error
    throw new NotPossible(
      'The benchmark needs a PostgreSQL server whose user may create databases: set BENCH_DATABASE_URL ' +
        '(default: 127.0.0.1:5432).',
    )
  } finally {
    await client.end({ timeout: 1 })
  }
}

/** The records and messages of the benchmark must not mix with those of other servers. */
async function requireUnusedRedis(url: string): Promise<void> {
  const { nodes } = parseRedisUrl(url)
  const { tls, ...node } = nodes[0]
  const redis = new Redis({ ...node, ...(tls ? { tls: {} } : {}), lazyConnect: true, retryStrategy: () => null })
  redis.on('error', () => {})
  let listeners: number
  try {
    await redis.connect()
    listeners = (await redis.pubsub('CHANNELS', feedChannel('*'))).length
  } catch {
    throw new NotPossible('The benchmark needs Redis: set BENCH_REDIS_URL (default: 127.0.0.1:6379).')
  } finally {
    redis.disconnect()
  }
  if (listeners > 0) {
    throw new NotPossible('A running deal server uses this Redis: set BENCH_REDIS_URL to an unused one.')
  }
}
