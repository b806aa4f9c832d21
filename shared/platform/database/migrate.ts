import { type MigrationMeta, readMigrationFiles } from 'drizzle-orm/migrator'
import type { Database } from './database.ts'
import { translateDriverError } from './driver-errors.ts'
import { applyMigrations } from './drizzle-internals.ts'

/** The migrations of one server. */
export interface MigrateOptions {
  /** The folder that drizzle-kit generated. */
  readonly migrationsFolder: string
  /** The server's own schema. It also keeps the journal of applied migrations. */
  readonly schema: string
  /** How long to wait while another instance migrates, in milliseconds; 60,000 when left out. */
  readonly waitTimeoutMs?: number
}

/**
 * Applies the migrations that `database` does not have yet, in one transaction. Instances that start together take
 * turns, so that each migration is applied once.
 *
 * @throws DatabaseError when PostgreSQL refuses a migration, Unavailable when the database is away or another instance
 * takes too long
 */
export async function migrateDatabase(database: Database, options: MigrateOptions): Promise<void> {
  const { migrationsFolder, schema, waitTimeoutMs = 60_000 } = options
  const migrations = readMigrationFiles({ migrationsFolder }).map(withoutSchemaConflict)
  const migrate = async (drizzle: Database['drizzle']): Promise<void> => {
    try {
      await applyMigrations(drizzle, migrations, { migrationsFolder, migrationsSchema: schema })
    } catch (error) {
      throw translateDriverError(error)
    }
  }
  await database.exclusively(`migrations of ${schema}`, migrate, { waitTimeoutMs })
}

/** The table of the journal creates the schema before the generated `CREATE SCHEMA` runs. */
const withoutSchemaConflict = (migration: MigrationMeta): MigrationMeta => ({
  ...migration,
  sql: migration.sql.map((statement) =>
    statement.replace(/^\s*CREATE SCHEMA (?!IF NOT EXISTS)/i, 'CREATE SCHEMA IF NOT EXISTS '),
  ),
})
