import { and, eq, gt, sql } from 'drizzle-orm'
import type { Clock } from '../../shared/clock.ts'
import type { Database, Drizzle } from '../../shared/database/database.ts'
import { Refused } from '../../shared/errors.ts'
import type { HousekeepingJob } from '../../shared/housekeeping.ts'
import type { VerifyAccessToken } from '../../shared/tokens/verify-access-token.ts'
import { maxEndedLogins } from '../logins/login.ts'
import { endedTokens } from '../store/schema.ts'
import { changePrincipal } from '../users/principal-change.ts'
import type { PrincipalPublisher } from '../users/principal-publisher.ts'
import { tokensAliveSince } from '../users/principal-record.ts'

/** What ending one token needs. */
export interface EndKeyTokenPorts {
  readonly database: Database
  readonly clock: Clock
  readonly publisher: Pick<PrincipalPublisher, 'settle'>
  readonly verifyAccessToken: VerifyAccessToken
}

/**
 * Ends one access token of an API key, wherever its owner's record is known, which is settled before this resolves; the key and its
 * other tokens live on. Undefined for what has expired.
 *
 * @throws Refused `too-many-logins` when as many of the owner are remembered as of ended logins; Unavailable
 */
export type EndKeyToken = (token: string) => Promise<{ readonly id: string; readonly username: string } | undefined>

/** Ending one token over these ports. */
export function createEndKeyToken({ database, clock, publisher, verifyAccessToken }: EndKeyTokenPorts): EndKeyToken {
  return async (token) => {
    const verdict = verifyAccessToken(token)
    if (!verdict.ok) return undefined
    const { jti: id, sub: username, exp } = verdict.claims
    const now = new Date(clock.now())
    const { changeNumber } = await changePrincipal(database, username, async (transaction, { userId }) => {
      await refuseTooMany(transaction, userId, now)
      const ended = await transaction
        .insert(endedTokens)
        .values({ id, userId, endedAt: now, expiresAt: new Date(exp * 1000) })
        .onConflictDoNothing()
        .returning({ id: endedTokens.id })
      return { result: undefined, ...(ended.length > 0 && { change: {} }) }
    })
    await publisher.settle(changeNumber)
    return { id, username }
  }
}

/** Every one stands in the owner's record as long as it lives. */
async function refuseTooMany(transaction: Drizzle, userId: string, now: Date): Promise<void> {
  const [counted] = await transaction
    .select({ count: sql<number>`count(*)::int` })
    .from(endedTokens)
    .where(and(eq(endedTokens.userId, userId), gt(endedTokens.expiresAt, now)))
  if ((counted?.count ?? 0) < maxEndedLogins) return
  throw new Refused(
    'too-many-logins',
    'Too many revoked tokens of this user are still remembered. Revoke the API key.',
    {
      headers: { 'retry-after': '60' },
    },
  )
}

/** Ended tokens that have expired, for the slowest clock too. */
export const createEndedTokenExpiry = (clock: Clock): HousekeepingJob => ({
  name: 'revoked tokens',
  removeBatch: async (drizzle, { limit }) => {
    const expired = sql`ctid = any(array(
      select ctid from ${endedTokens} where expires_at <= ${tokensAliveSince(clock)}::timestamptz
      order by expires_at limit ${limit} for update skip locked))`
    const rows = await drizzle.delete(endedTokens).where(expired).returning({ one: sql<number>`1` })
    return rows.length
  },
})
