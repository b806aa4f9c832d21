/**
 * The parts of Drizzle that we use and that are not its public API: the session of a database, and migrations that were
 * read by ourselves. `package.json` therefore pins the exact version of drizzle-orm. Check these functions,
 * `translated-drizzle.ts` and `../postgres/postgres-drizzle.ts` before you raise it; the suites of both folders fail
 * when something has changed.
 */
import type { MigrationConfig, MigrationMeta } from 'drizzle-orm/migrator'
import { PgDialect, type PgSession } from 'drizzle-orm/pg-core'
import type { Drizzle } from './database.ts'

/** The session through which a database or a transaction prepares its statements. */
export const sessionOf = (database: Pick<Drizzle, '_'>): Drizzle['_']['session'] => database._.session

/**
 * Applies the migrations that the journal does not have. Drizzle's own `migrate` reads the files itself, and we change
 * their text.
 */
export function applyMigrations(
  database: Drizzle,
  migrations: MigrationMeta[],
  config: Required<MigrationConfig>,
): Promise<void> {
  // Drizzle declares the session of a database without the type parameters that a dialect expects.
  return new PgDialect().migrate(migrations, sessionOf(database) as unknown as PgSession, config)
}
