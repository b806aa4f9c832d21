import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import type { PgTable } from 'drizzle-orm/pg-core'
import type { Drizzle } from './database.ts'
import type { HousekeepingJob } from './housekeeping.ts'

/** The rows of a table that expire. */
export interface ExpiryOptions {
  /** In the log: `commands`. */
  readonly name: string
  readonly table: PgTable
  /** The time at which a row expires: a column or an expression, by preference one with an index. */
  readonly expiresAt: SQLWrapper
  /** RFC 3339. Rows that expire by then are removed; the time of the run when left out. */
  readonly expiredBy?: () => string
  /** A second condition that a row must meet; `expiredBy` is SQL for the time above. */
  readonly condition?: (expiredBy: SQL) => SQL
  /** Removes the rows for which `isInBatch` is true, and answers how many they are. Deletes them when left out. */
  readonly remove?: (drizzle: Drizzle, isInBatch: SQL) => Promise<number>
}

/**
 * The job that removes expired rows of one table, those that expired first before the others. Passes over locked rows.
 */
export function expiryJob(options: ExpiryOptions): HousekeepingJob {
  const { name, table, expiresAt, condition, remove = removeFrom(table) } = options
  return {
    name,
    removeBatch: (drizzle, { now, limit }) => {
      const expiredBy = sql`${options.expiredBy?.() ?? now}::timestamptz`
      const further = condition ? sql` and ${condition(expiredBy)}` : sql``
      // An array and not `in`: the planner may run a subquery of `in` several times, and each run could lock other
      // rows.
      const isInBatch = sql`ctid = any(array(
        select ctid from ${table} where ${expiresAt} <= ${expiredBy}${further}
        order by ${expiresAt} limit ${limit} for update skip locked))`
      return remove(drizzle, isInBatch)
    },
  }
}

const removeFrom =
  (table: PgTable) =>
  async (drizzle: Drizzle, isInBatch: SQL): Promise<number> =>
    (await drizzle.delete(table).where(isInBatch).returning({ one: sql<number>`1` })).length
