import { and, eq, gt, sql } from 'drizzle-orm'
import type { Clock } from '../../shared/platform/clock.ts'
import type { Drizzle } from '../../shared/platform/database/database.ts'
import { expiryJob } from '../../shared/platform/database/expiry-job.ts'
import type { HousekeepingJob } from '../../shared/platform/database/housekeeping.ts'
import { ProblemError } from '../../shared/platform/problems/errors.ts'
import { anonymousUsername } from '../../shared/protocol/principal/record.ts'
import { maxRevokedIds } from '../logins/login.ts'
import { changePrincipal } from '../principals/principal-change.ts'
import { whenPublished } from '../principals/principal-publisher.ts'
import { tokensAliveSince } from '../principals/principal-record.ts'
import { endedTokens } from '../store/schema.ts'
import type { OAuthSystems } from './oauth-systems.ts'

/**
 * Revokes one access token or key-signed token. Other tokens, and the API key that the token may belong to, stay
 * valid. Waits until the change is published. Does nothing for a token that has expired or is not valid.
 *
 * @throws ProblemError `too-many-logins` when the record of the owner has no room for another revoked id; Unavailable
 */
export function createTokenRevocation({ database, clock, publisher, ...verifiers }: OAuthSystems) {
  return async function revokeToken(token: string): Promise<void> {
    const access = await verifiers.verifyAccessToken(token)
    const verdict = access.ok ? access : verifiers.verifyKeySignedToken(token)
    if (!verdict.ok) return
    const { jti: id, sub, exp } = verdict.claims
    const username = sub ?? anonymousUsername
    const now = new Date(clock.now())
    const action = access.ok ? 'token.revoked' : 'key-signed-token.revoked'
    await whenPublished(
      publisher,
      changePrincipal(database, username, async (transaction, { userId }) => {
        await refuseTooMany(transaction, userId, now)
        const ended = await transaction
          .insert(endedTokens)
          .values({ id, userId, endedAt: now, expiresAt: new Date(exp * 1000) })
          .onConflictDoNothing()
          .returning({ id: endedTokens.id })
        if (ended.length === 0) return { result: undefined, entries: [] }
        return { result: undefined, change: {}, entries: [{ action, actor: username, target: id }] }
      }),
    )
  }
}

/** Limits the revoked tokens of a user: the principal record holds the id of each one until the token expires. */
async function refuseTooMany(transaction: Drizzle, userId: string, now: Date): Promise<void> {
  const [counted] = await transaction
    .select({ count: sql<number>`count(*)::int` })
    .from(endedTokens)
    .where(and(eq(endedTokens.userId, userId), gt(endedTokens.expiresAt, now)))
  if ((counted?.count ?? 0) < maxRevokedIds) return
  throw new ProblemError(
    'too-many-logins',
    'Too many revoked tokens of this user are still remembered. ' +
      'Revoke the API key, or have the user logged out everywhere.',
    { retryAfterSeconds: 60 },
  )
}

/** The job that deletes revoked tokens after they have expired on the slowest clock too. */
export const createRevokedTokenExpiry = (clock: Clock): HousekeepingJob =>
  expiryJob({
    name: 'revoked tokens',
    table: endedTokens,
    expiresAt: endedTokens.expiresAt,
    expiredBy: () => tokensAliveSince(clock.now()),
  })
