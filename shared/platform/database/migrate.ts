import { type MigrationMeta, readMigrationFiles } from 'drizzle-orm/migrator'
import { PgDialect, type PgSession } from 'drizzle-orm/pg-core'
import type { Database } from './database.ts'
import { translateDriverError } from './driver-errors.ts'

export interface MigrateOptions {
  /** Folder that drizzle-kit generated. */
  readonly migrationsFolder: string
  /** The server's own schema, which also keeps the journal of what has been applied. */
  readonly schema: string
  /** How long to wait for another instance that is migrating, in milliseconds; 60,000 unless said. */
  readonly waitTimeoutMs?: number
}

/**
 * Applies the migrations which `database` has not seen, all of them in one transaction. Instances that start together take
 * turns, so each migration is applied once.
 *
 * @throws DatabaseError when a migration is refused, Unavailable when the database is away or another instance stays at it
 */
export const migrateDatabase = async (database: Database, options: MigrateOptions): Promise<void> => {
  const { migrationsFolder, schema, waitTimeoutMs = 60_000 } = options
  const migrations = readMigrationFiles({ migrationsFolder }).map(withoutSchemaConflict)
  const migrate = async (drizzle: Database['drizzle']): Promise<void> => {
    const session = drizzle._.session as unknown as PgSession
    try {
      await new PgDialect().migrate(migrations, session, { migrationsFolder, migrationsSchema: schema })
    } catch (error) {
      throw translateDriverError(error)
    }
  }
  await database.exclusively(`migrations of ${schema}`, migrate, { waitTimeoutMs })
}

/** The journal's table has made the schema already when the generated `CREATE SCHEMA` comes to run. */
const withoutSchemaConflict = (migration: MigrationMeta): MigrationMeta => ({
  ...migration,
  sql: migration.sql.map((statement) =>
    statement.replace(/^\s*CREATE SCHEMA (?!IF NOT EXISTS)/i, 'CREATE SCHEMA IF NOT EXISTS '),
  ),
})
