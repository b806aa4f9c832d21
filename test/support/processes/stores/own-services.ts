/**
 * Runs before `npm run test:all`: starts PostgreSQL and Redis for it where their programs are installed, unless the
 * variables name others.
 */
import { isEverything } from '../../campaign.ts'
import { missingForCitus } from './citus-cluster.ts'
import { findPostgresBinaries, PostgresServer } from './postgres-server.ts'
import { redisServerInstalled, startRedisServer } from './redis-server.ts'

/** What Vitest calls. Gives what it calls in the end. */
export default async function setup(): Promise<(() => Promise<void>) | undefined> {
  // Installs it once: workers that do so at the same time find half of it.
  if (isEverything) missingForCitus()
  const { TEST_DATABASE_URL, TEST_REDIS_URL } = process.env
  const binaries = findPostgresBinaries()
  const isThere = TEST_DATABASE_URL !== undefined || TEST_REDIS_URL !== undefined
  if (!isEverything || isThere || binaries === undefined || !redisServerInstalled) return
  const postgres = await PostgresServer.create(binaries, { max_connections: '300' })
  const redis = await startRedisServer()
  process.env.TEST_DATABASE_URL = postgres.url
  process.env.TEST_REDIS_URL = redis.url
  return async () => {
    await redis.dispose()
    await postgres.remove()
  }
}
