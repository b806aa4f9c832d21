/**
 * Runs before all tests. For `npm run test:all` it starts PostgreSQL and Redis where their programs are installed,
 * unless the variables name others.
 */
import { openPostgres } from '../../../../shared/platform/postgres/postgres.ts'
import { isEverything } from '../../campaign.ts'
import { migrateBoth } from '../../stores/migrate-both.ts'
import { createScratchDatabase } from '../../stores/scratch-database.ts'
import { missingForCitus } from './citus-cluster.ts'
import { findPostgresBinaries, PostgresServer } from './postgres-server.ts'
import { redisServerInstalled, startRedisServer } from './redis-server.ts'

/** What Vitest calls. Gives what it calls in the end. */
export default async function setup(): Promise<() => Promise<void>> {
  // Installs it once: workers that do so at the same time find half of it.
  if (isEverything) missingForCitus()
  const stopServers = await startServers()
  const dropTemplate = await makeTemplate(process.env.TEST_DATABASE_URL)
  return async () => {
    await dropTemplate?.()
    await stopServers?.()
  }
}

async function startServers(): Promise<(() => Promise<void>) | undefined> {
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

/** Makes the database that others are copies of: a copy takes a third of the time of the migrations. */
async function makeTemplate(serverUrl: string | undefined): Promise<(() => Promise<void>) | undefined> {
  if (serverUrl === undefined) return
  const { url, drop } = await createScratchDatabase(serverUrl)
  const database = openPostgres(url)
  await migrateBoth(database)
  await database.close()
  process.env.TEST_DATABASE_TEMPLATE = new URL(url).pathname.slice(1)
  return drop
}
