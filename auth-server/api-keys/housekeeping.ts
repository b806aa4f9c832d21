import { sql } from 'drizzle-orm'
import type { Clock } from '../../shared/platform/clock.ts'
import type { HousekeepingJob } from '../../shared/platform/database/housekeeping.ts'
import { apiKeys } from '../store/schema.ts'
import { tokensAliveSince } from '../users/principal-record.ts'

/** Keys that were revoked or have expired, once the last token made with them has expired, for the slowest clock too. */
export const createApiKeyExpiry = (clock: Clock): HousekeepingJob => ({
  name: 'API keys',
  removeBatch: async (drizzle, { limit }) => {
    const aliveSince = sql`${tokensAliveSince(clock)}::timestamptz`
    // Found before they are removed: the planner could run a subquery of `in` several times, each time with other rows.
    const ended = sql`ctid = any(array(
      select ctid from ${apiKeys} where least(revoked_at, expires_at) <= ${aliveSince}
        and coalesce(tokens_expire_at <= ${aliveSince}, true)
      limit ${limit} for update skip locked))`
    const rows = await drizzle.delete(apiKeys).where(ended).returning({ one: sql<number>`1` })
    return rows.length
  },
})
