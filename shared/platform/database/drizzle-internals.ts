/**
 * The part of Drizzle that we use and that is not its public API: the session of a database. `package.json` therefore
 * pins the exact version of drizzle-orm. Check this function, `translated-drizzle.ts` and
 * `../postgres/postgres-drizzle.ts` before you raise it; the suites of both folders fail when something has changed.
 */
import type { Drizzle } from './database.ts'

/** The session through which a database or a transaction prepares its statements. */
export const sessionOf = (database: Pick<Drizzle, '_'>): Drizzle['_']['session'] => database._.session
