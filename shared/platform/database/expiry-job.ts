import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { getTableConfig, type PgColumn, type PgTable } from 'drizzle-orm/pg-core'
import type { Drizzle } from './database.ts'
import type { HousekeepingJob } from './housekeeping.ts'

interface ExpiryOptions {
  /** In the log: `commands`. */
  readonly name: string
  /** It needs a primary key. */
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
  const key = sql.join(primaryKeyOf(table), sql`, `)
  return {
    name,
    removeBatch: (drizzle, { now, limit }) => {
      const expiredBy = sql`${options.expiredBy?.() ?? now}::timestamptz`
      const further = condition ? sql` and ${condition(expiredBy)}` : sql``
      // Materialized: the planner may run a subquery of `in` several times, and each run could lock other rows.
      const isInBatch = sql`(${key}) in (
        with batch as materialized (
          select ${key} from ${table} where ${expiresAt} <= ${expiredBy}${further}
          order by ${expiresAt} limit ${limit} for update skip locked
        ) select * from batch)`
      return remove(drizzle, isInBatch)
    },
  }
}

function primaryKeyOf(table: PgTable): PgColumn[] {
  const { columns, primaryKeys, name } = getTableConfig(table)
  const key = primaryKeys[0]?.columns ?? columns.filter(({ primary }) => primary)
  if (key.length === 0) throw new TypeError(`the table ${name} has no primary key`)
  return [...key]
}

const removeFrom =
  (table: PgTable) =>
  async (drizzle: Drizzle, isInBatch: SQL): Promise<number> =>
    (await drizzle.delete(table).where(isInBatch).returning({ one: sql<number>`1` })).length
