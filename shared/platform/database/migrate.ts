import { sql } from 'drizzle-orm'
import { type MigrationMeta, readMigrationFiles } from 'drizzle-orm/migrator'
import { readPresentHistory } from '../history/history.ts'
import { OperatorError } from '../operator-error.ts'
import { type Database, DatabaseError, type Drizzle } from './database.ts'
import { parameters } from './statement.ts'

interface MigrateOptions {
  /** The folder that drizzle-kit generated. Its first migration is the schema of release 0.3.0. */
  readonly migrationsFolder: string
  /** The server's own schema. It also keeps the journal of applied migrations. */
  readonly schema: string
  /** How long to wait while another instance migrates, in milliseconds; 60,000 when left out. */
  readonly waitTimeoutMs?: number
}

/** The journal of applied migrations, in the server's own schema. */
const migrationsTable = 'migrations'

/** The journal of releases before 0.3.0. */
const formerTable = '__drizzle_migrations'

/**
 * Tables that Citus spreads over nodes are changed over one connection to each node, so that a function can follow a
 * table in a transaction. PostgreSQL itself takes the setting and does nothing with it.
 */
const oneConnection = "set local citus.multi_shard_modify_mode = 'sequential'"

/**
 * Applies the migrations that `database` does not have yet, in one transaction. Instances that start together take
 * turns, so that each migration is applied once.
 *
 * @throws OperatorError when a release before 0.3.0 has made the schema; DatabaseError when PostgreSQL refuses a
 * migration or to name its history; Unavailable when the database is away or a standby, or another instance takes too
 * long
 */
export async function migrateDatabase(database: Database, options: MigrateOptions): Promise<void> {
  const { migrationsFolder, schema, waitTimeoutMs = 60_000 } = options
  await database.requireSuitable()
  // Servers read it with all that they cache: a role that may not is refused now.
  await readPresentHistory(database)
  const migrations = readMigrationFiles({ migrationsFolder })
  const applied = await lastApplied(database, schema)
  if (applied !== undefined) {
    if (migrations[0] && applied < migrations[0].folderMillis) throw new OperatorError(tooOld(schema))
    if (migrations.every(({ folderMillis }) => folderMillis <= applied)) return
  }
  const work = (drizzle: Drizzle) => apply(drizzle, migrations, schema)
  await database.exclusively(`migrations of ${schema}`, work, { waitTimeoutMs })
}

const tooOld = (schema: string): string =>
  `The schema ${schema} is of a release before 0.3.0: upgrade to 0.3.0 first, and then to this one (CHANGELOG.md).`

const table = parameters({ schema: 'text', table: 'text' })
const formerSql = table.statement(
  sql`select from pg_tables where schemaname = ${table.schema} and tablename = ${table.table}`,
)

/** The last migration in the database: 0 for one before release 0.3.0, undefined when there is none. */
async function lastApplied(database: Database, schema: string): Promise<number | undefined> {
  try {
    const text = `select max(created_at)::text as last from "${schema}".${migrationsTable}`
    const [journal] = await database.query<{ last: string | null }>(text)
    return journal?.last ? Number(journal.last) : undefined
  } catch (error) {
    if (!(error instanceof DatabaseError)) throw error
    const [former] = await database.query(...formerSql({ schema, table: formerTable }))
    return former ? 0 : undefined
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
  await drizzle.execute(sql.raw(oneConnection))
  for (const { folderMillis, hash, sql: statements } of migrations) {
    if (folderMillis <= Number(found?.last ?? Number.NEGATIVE_INFINITY)) continue
    for (const statement of statements) {
      if (!createsSchema.test(statement)) await drizzle.execute(sql.raw(statement))
    }
    await drizzle.execute(sql`insert into ${journal} (hash, created_at) values (${hash}, ${folderMillis})`)
  }
}

/** The generated statement. */
const createsSchema = /^\s*create schema/i
