/**
 * Deletes expired logins, sessions and links for forgotten passwords. A login stays until every server, with
 * any clock, refuses its tokens as expired.
 */
import type { Clock } from '../../shared/platform/clock.ts'
import { expiryJob } from '../../shared/platform/database/expiry-job.ts'
import type { HousekeepingJob } from '../../shared/platform/database/housekeeping.ts'
import { tokensAliveSince } from '../principals/principal-record.ts'
import { loginExpiry, loginFamilies, passwordResets, sessions } from '../store/schema.ts'

/** Deletes refresh token families whose tokens have all expired, for the slowest clock too. */
export const createLoginExpiry = (clock: Clock): HousekeepingJob =>
  expiryJob({
    name: 'expired logins',
    table: loginFamilies,
    expiresAt: loginExpiry,
    expiredBy: () => tokensAliveSince(clock),
  })

/** Deletes sessions that are older than `SESSION_MAX_TTL`, revoked or not. */
export const createSessionExpiry = (clock: Clock): HousekeepingJob =>
  expiryJob({
    name: 'expired sessions',
    table: sessions,
    expiresAt: sessions.expiresAt,
    expiredBy: () => tokensAliveSince(clock),
  })

/** Deletes links for forgotten passwords that were not used. */
export const createPasswordResetExpiry = (): HousekeepingJob =>
  expiryJob({ name: 'expired password resets', table: passwordResets, expiresAt: passwordResets.expiresAt })
