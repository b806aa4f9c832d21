import { sql } from 'drizzle-orm'
import type { digestCountsTable } from '../database/credential-tables.ts'
import type { HousekeepingJob } from '../housekeeping.ts'

/** Removes what is remembered of nonces that no clock takes for good any more. */
export const createDigestCountExpiry = (table: ReturnType<typeof digestCountsTable>): HousekeepingJob => ({
  name: 'expired Digest nonces',
  removeBatch: async (drizzle, { now, limit }) => {
    // Found before they are removed: the planner could run a subquery of `in` several times, each time with other rows.
    const expired = sql`ctid = any(array(
      select ctid from ${table} where expires_at <= ${now}::timestamptz
      order by expires_at limit ${limit} for update skip locked))`
    const rows = await drizzle.delete(table).where(expired).returning({ one: sql<number>`1` })
    return rows.length
  },
})
