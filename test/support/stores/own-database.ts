/** Databases of a test's own, and suites that run over the embedded engine and over PostgreSQL. */
import { afterAll, afterEach, beforeAll, beforeEach, describe } from 'vitest'
import type { Database } from '../../../shared/platform/database/database.ts'
import type { EmbeddedEngine } from '../../../shared/platform/embedded/embedded.ts'
import { openPostgres } from '../../../shared/platform/postgres/postgres.ts'
import { ranEmbedded } from '../campaign.ts'
import { openTestEngine } from '../processes/stores/embedded-engine.ts'
import type { Backend } from './backends.ts'
import { migrateBoth } from './migrate-both.ts'
import { openMigratedEngine } from './migrated-engine.ts'
import { createScratchDatabase } from './scratch-database.ts'

/** A database of a test's own; its address stands in `environment`, unless the engine is embedded. */
export type OwnDatabase = Pick<Backend, 'environment' | 'openDatabase' | 'close'>

export type OpenOwnDatabase = () => Promise<OwnDatabase>

const embedded = async (engine: Promise<EmbeddedEngine>): Promise<OwnDatabase> => {
  const { database, close } = await engine
  return { environment: {}, openDatabase: () => database(), close }
}

const onServer = async (serverUrl: string): Promise<OwnDatabase> => {
  const { url, drop } = await createScratchDatabase(serverUrl)
  const environment = { AUTH_DATABASE_URL: url, DEAL_DATABASE_URL: url }
  return { environment, openDatabase: () => openPostgres(url), close: drop }
}

async function migrated(own: Promise<OwnDatabase>): Promise<OwnDatabase> {
  const database = (await own).openDatabase()
  await migrateBoth(database)
  await database.close()
  return own
}

const { TEST_DATABASE_URL: serverUrl } = process.env

/** Runs a suite over databases with the tables of both servers: embedded, and on TEST_DATABASE_URL when that is set. */
export function describeDatabases(name: string, suite: (open: OpenOwnDatabase) => void): void {
  describe.skipIf(ranEmbedded)(`${name} (embedded)`, () => suite(() => embedded(openMigratedEngine())))
  if (serverUrl === undefined) return
  describe(`${name} (PostgreSQL)`, () => suite(() => migrated(onServer(serverUrl))))
}

/** The same over databases without tables. */
export function describeEmptyDatabases(
  name: string,
  suite: (open: OpenOwnDatabase, on: { readonly isEmbedded: boolean }) => void,
): void {
  describe.skipIf(ranEmbedded)(`${name} (embedded)`, () =>
    suite(() => embedded(openTestEngine()), { isEmbedded: true }),
  )
  if (serverUrl === undefined) return
  describe(`${name} (PostgreSQL)`, () => suite(() => onServer(serverUrl), { isEmbedded: false }))
}

/** What is opened before tests and closed after them. */
interface OpenedDatabase {
  readonly database: Database
  /** The database as one more server opens it. */
  readonly openAnother: () => Database
  /** Where it is; empty for the embedded engine. */
  readonly url: () => string
}

/** From before the first test of a suite until after its last. */
export const databaseOfSuite = (open: OpenOwnDatabase) => openedDatabase(open, beforeAll, afterAll)

/** From before a test until after it. */
export const databaseOfTest = (open: OpenOwnDatabase) => openedDatabase(open, beforeEach, afterEach)

function openedDatabase(
  open: OpenOwnDatabase,
  before: (open: () => Promise<void>) => void,
  after: (close: () => Promise<void>) => void,
): OpenedDatabase {
  let own: OwnDatabase
  let database: Database
  const others: Database[] = []
  before(async () => {
    own = await open()
    database = own.openDatabase()
  })
  after(async () => {
    for (const opened of [...others.splice(0), database]) await opened.close()
    await own.close()
  })
  const openAnother = () => {
    const other = own.openDatabase()
    others.push(other)
    return other
  }
  // It is opened later than it is given, and has private members: its methods want itself.
  const memberOf = (_: Database, name: string | symbol): unknown => {
    const member: unknown = Reflect.get(database, name)
    return typeof member === 'function' ? member.bind(database) : member
  }
  const url = () => own.environment.DEAL_DATABASE_URL ?? ''
  return { database: new Proxy({} as Database, { get: memberOf }), openAnother, url }
}
