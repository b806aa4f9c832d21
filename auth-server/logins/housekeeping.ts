/** What expires of logins. A login matters as long as any server may take one of its tokens for alive; afterwards it is as if unknown. */
import { sql } from 'drizzle-orm'
import type { Clock } from '../../shared/platform/clock.ts'
import type { HousekeepingJob } from '../../shared/platform/database/housekeeping.ts'
import { loginExpiry, loginFamilies, sessions } from '../store/schema.ts'
import { tokensAliveSince } from '../users/principal-record.ts'

/** Login families whose tokens have all expired, for the slowest clock too. */
export const createLoginExpiry = (clock: Clock): HousekeepingJob => ({
  name: 'expired logins',
  removeBatch: async (drizzle, { limit }) => {
    const aliveSince = tokensAliveSince(clock)
    // Found before they are removed: the planner could run a subquery of `in` several times, each time with other rows.
    const expired = sql`ctid = any(array(
      select ctid from ${loginFamilies} where ${loginExpiry} <= ${aliveSince}::timestamptz
      order by ${loginExpiry} limit ${limit} for update skip locked))`
    const rows = await drizzle.delete(loginFamilies).where(expired).returning({ one: sql<number>`1` })
    return rows.length
  },
})

/** Sessions past their longest life, ended or not. */
export const createSessionExpiry = (clock: Clock): HousekeepingJob => ({
  name: 'expired sessions',
  removeBatch: async (drizzle, { limit }) => {
    const aliveSince = tokensAliveSince(clock)
    const expired = sql`ctid = any(array(
      select ctid from ${sessions} where ${sessions.expiresAt} <= ${aliveSince}::timestamptz
      order by ${sessions.expiresAt} limit ${limit} for update skip locked))`
    const rows = await drizzle.delete(sessions).where(expired).returning({ one: sql<number>`1` })
    return rows.length
  },
})
