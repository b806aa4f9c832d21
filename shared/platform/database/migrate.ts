import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { sql } from 'drizzle-orm'
import { type MigrationMeta, readMigrationFiles } from 'drizzle-orm/migrator'
import { readPresentHistory } from '../history/history.ts'
import { type Database, DatabaseError, type Drizzle } from './database.ts'
import { translateDriverError } from './driver-errors.ts'
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
  const migrations = readMigrationFiles({ migrationsFolder })
  // On new tables nobody waits for a lock.
  const isLast = (index: number) =>
    index === migrations.length - 1 ||
    (applied !== undefined && migrations[index + 1]?.sql[0]?.startsWith(ownTransaction) === true)
  const sent = migrations.map(({ sql: statements, ...rest }) => ({ ...rest, sql: [oneConnection, ...statements] }))
  for (const [index, { folderMillis }] of migrations.entries()) {
    if (!isLast(index) || folderMillis <= (applied ?? Number.NEGATIVE_INFINITY)) continue
    await alone((drizzle) => apply(drizzle, sent.slice(0, index + 1), schema))
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

/**
 * Applies the migrations that the journal does not have, in one transaction. Where the schema is there, nothing makes
 * one: a role that owns its schema may lack the right to make others.
 */
async function apply(drizzle: Drizzle, migrations: readonly MigrationMeta[], schema: string): Promise<void> {
  const createSchema = `do $$ begin
    if to_regnamespace('"${schema}"') is null then create schema "${schema}"; end if;
  end $$`
  const journal = sql.raw(`"${schema}".${migrationsTable}`)
  await drizzle.execute(sql.raw(createSchema))
  await drizzle.execute(
    sql`create table if not exists ${journal} (id serial primary key, hash text not null, created_at bigint)`,
  )
  const [found] = await drizzle.select({ last: sql<string | null>`max(created_at)` }).from(journal)
  await drizzle.transaction(async (transaction) => {
    for (const { folderMillis, hash, sql: statements } of migrations) {
      if (folderMillis <= Number(found?.last ?? Number.NEGATIVE_INFINITY)) continue
      for (const statement of statements) {
        const rest = statement.replace(createSchemaOf, '')
        if (rest.trim() !== '') await transaction.execute(sql.raw(rest))
      }
      await transaction.execute(sql`insert into ${journal} (hash, created_at) values (${hash}, ${folderMillis})`)
    }
  })
}

/** The generated statement. */
const createSchemaOf = /^\s*create schema (?:if not exists )?"\w+";?/i
