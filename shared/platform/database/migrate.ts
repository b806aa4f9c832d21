import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { sql } from 'drizzle-orm'
import { type MigrationMeta, readMigrationFiles } from 'drizzle-orm/migrator'
import { readPresentHistory } from '../history/history.ts'
import { type Database, DatabaseError } from './database.ts'
import { translateDriverError } from './driver-errors.ts'
import { applyMigrations } from './drizzle-internals.ts'
import { replaceFormerJournal } from './former-journal.ts'

/** The migrations of one server. */
export interface MigrateOptions {
  /** The folder that drizzle-kit generated. */
  readonly migrationsFolder: string
  /** The server's own schema. It also keeps the journal of applied migrations. */
  readonly schema: string
  /** How long to wait while another instance migrates, in milliseconds; 60,000 when left out. */
  readonly waitTimeoutMs?: number
}

/** The journal of applied migrations, in the server's own schema. */
const migrationsTable = 'migrations'

/**
 * Tables that Citus spreads over nodes are changed over one connection to each node, so that a function can follow a
 * table in a transaction. PostgreSQL itself takes the setting and does nothing with it.
 */
const oneConnection = "set local citus.multi_shard_modify_mode = 'sequential'"

/** The first line of a migration before which everything is committed. */
const ownTransaction = '-- In a transaction of its own'

/**
 * Applies the migrations that `database` does not have yet, in one transaction; those up to one that asks for a
 * transaction of its own are committed before it. Instances that start together take turns, so that each migration is
 * applied once.
 *
 * @throws DatabaseError when PostgreSQL refuses a migration or to name its history, Unavailable when the database is
 * away or a standby, or another instance takes too long
 */
export async function migrateDatabase(database: Database, options: MigrateOptions): Promise<void> {
  const { migrationsFolder, schema, waitTimeoutMs = 60_000 } = options
  await database.requireSuitable()
  // Servers read it with all that they cache: a role that may not is refused now.
  await readPresentHistory(database)
  if (await hasAllMigrations(database, options)) return
  const alone = (work: (drizzle: Database['drizzle']) => Promise<unknown>) =>
    database.exclusively(`migrations of ${schema}`, (drizzle) => translatingErrors(work(drizzle)), { waitTimeoutMs })
  await alone((drizzle) => drizzle.execute(sql.raw(replaceFormerJournal(schema))))
  const applied = await lastApplied(database, schema)
  const migrations = readMigrationFiles({ migrationsFolder }).map(withoutSchemaConflict)
  // On new tables nobody waits for a lock.
  const isLast = (index: number) =>
    index === migrations.length - 1 ||
    (applied !== undefined && migrations[index + 1]?.sql[0]?.startsWith(ownTransaction) === true)
  const config = { migrationsFolder, migrationsSchema: schema, migrationsTable }
  const sent = migrations.map(({ sql: statements, ...rest }) => ({ ...rest, sql: [oneConnection, ...statements] }))
  for (const [index, { folderMillis }] of migrations.entries()) {
    if (!isLast(index) || folderMillis <= (applied ?? Number.NEGATIVE_INFINITY)) continue
    await alone((drizzle) => applyMigrations(drizzle, sent.slice(0, index + 1), config))
  }
}

async function translatingErrors<Result>(work: Promise<Result>): Promise<Result> {
  try {
    return await work
  } catch (error) {
    throw translateDriverError(error)
  }
}

/** True when the journal in the database ends with the last migration of the folder, which is so at most starts. */
async function hasAllMigrations(database: Database, { migrationsFolder, schema }: MigrateOptions): Promise<boolean> {
  const list = JSON.parse(await readFile(join(migrationsFolder, 'meta/_journal.json'), 'utf8')) as JournalFile
  const applied = await lastApplied(database, schema)
  return applied !== undefined && list.entries.every(({ when }) => when <= applied)
}

/** The list of migrations that drizzle-kit writes. `when` of an entry is the number that the database keeps. */
interface JournalFile {
  readonly entries: readonly { readonly when: number }[]
}

/** The last migration in the database; undefined when there is none, or no journal that can be read. */
async function lastApplied(database: Database, schema: string): Promise<number | undefined> {
  try {
    const text = `select max(created_at)::text as last from "${schema}".${migrationsTable}`
    const [journal] = await database.query<{ last: string | null }>(text)
    return journal?.last ? Number(journal.last) : undefined
  } catch (error) {
    if (error instanceof DatabaseError) return undefined
    throw error
  }
}

/** The table of the journal creates the schema before the generated `CREATE SCHEMA` runs. */
const withoutSchemaConflict = (migration: MigrationMeta): MigrationMeta => ({
  ...migration,
  sql: migration.sql.map((statement) =>
    statement.replace(/^\s*CREATE SCHEMA (?!IF NOT EXISTS)/i, 'CREATE SCHEMA IF NOT EXISTS '),
  ),
})
