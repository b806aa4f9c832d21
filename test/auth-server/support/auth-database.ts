import { join } from 'node:path'
import { afterAll, beforeAll, describe } from 'vitest'
import type { Database } from '../../../shared/platform/database/database.ts'
import { migrateDatabase } from '../../../shared/platform/database/migrate.ts'
import { openPostgres } from '../../../shared/platform/postgres/postgres.ts'
import { ranEmbedded } from '../../support/campaign.ts'
import { openMigratedEngine } from '../../support/stores/migrated-engine.ts'
import { createScratchDatabase } from '../../support/stores/scratch-database.ts'

/** A migrated database of a test's own. */
export interface TestDatabase {
  readonly database: Database
  dispose(): Promise<void>
}

const migrationsFolder = join(import.meta.dirname, '../../../auth-server/store/migrations')

async function openEmbedded(): Promise<TestDatabase> {
  const engine = await openMigratedEngine()
  const database = engine.database()
  return { database, dispose: () => engine.close() }
}

async function openScratch(serverUrl: string): Promise<TestDatabase> {
  const scratch = await createScratchDatabase(serverUrl)
  const database = openPostgres(scratch.url)
  await migrateDatabase(database, { migrationsFolder, schema: 'auth' })
  return {
    database,
    dispose: async () => {
      await database.close()
      await scratch.drop()
    },
  }
}

/** Runs a suite over the embedded engine and, when TEST_DATABASE_URL is set, over PostgreSQL. */
export function describeOnDatabases(name: string, suite: (open: () => Promise<TestDatabase>) => void): void {
  const { TEST_DATABASE_URL: serverUrl } = process.env
  describe.skipIf(ranEmbedded)(`${name} (embedded engine)`, () => suite(openEmbedded))
  if (serverUrl !== undefined) describe(`${name} (PostgreSQL)`, () => suite(() => openScratch(serverUrl)))
}

/** The database that this opens, from before the first test of a suite until after its last. */
export function databaseOfSuite(open: () => Promise<TestDatabase>): Pick<TestDatabase, 'database'> {
  let opened: TestDatabase
  beforeAll(async () => {
    opened = await open()
  })
  afterAll(() => opened.dispose())
  return {
    get database() {
      return opened.database
    },
  }
}
