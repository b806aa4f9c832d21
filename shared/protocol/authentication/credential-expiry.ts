/** Removes what is remembered of credentials that work once only, as soon as no clock takes them for good any more. */
import { sql } from 'drizzle-orm'
import type { HousekeepingJob } from '../../platform/database/housekeeping.ts'
import type { digestCountsTable, usedSignaturesTable } from './credential-tables.ts'

type UsedSignatures = ReturnType<typeof usedSignaturesTable>
type DigestCounts = ReturnType<typeof digestCountsTable>

export const createUsedSignatureExpiry = (table: UsedSignatures): HousekeepingJob => expiryOf('used signatures', table)

export const createDigestCountExpiry = (table: DigestCounts): HousekeepingJob =>
  expiryOf('expired Digest nonces', table)

const expiryOf = (name: string, table: UsedSignatures | DigestCounts): HousekeepingJob => ({
  name,
  removeBatch: async (drizzle, { now, limit }) => {
    // Found before they are removed: the planner could run a subquery of `in` several times, each time with other rows.
    const expired = sql`ctid = any(array(
      select ctid from ${table} where expires_at <= ${now}::timestamptz
      order by expires_at limit ${limit} for update skip locked))`
    const rows = await drizzle.delete(table).where(expired).returning({ one: sql<number>`1` })
    return rows.length
  },
})
