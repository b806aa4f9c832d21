/** What expires of logins. A login matters as long as any server may take one of its tokens for alive; afterwards it is as if unknown. */
import type { Clock } from '../../shared/platform/clock.ts'
import { expiryJob } from '../../shared/platform/database/expiry-job.ts'
import type { HousekeepingJob } from '../../shared/platform/database/housekeeping.ts'
import { loginExpiry, loginFamilies, sessions } from '../store/schema.ts'
import { tokensAliveSince } from '../users/principal-record.ts'

/** Login families whose tokens have all expired, for the slowest clock too. */
export const createLoginExpiry = (clock: Clock): HousekeepingJob =>
  expiryJob({
    name: 'expired logins',
    table: loginFamilies,
    expiresAt: loginExpiry,
    expiredBy: () => tokensAliveSince(clock),
  })

/** Sessions past their longest life, ended or not. */
export const createSessionExpiry = (clock: Clock): HousekeepingJob =>
  expiryJob({
    name: 'expired sessions',
    table: sessions,
    expiresAt: sessions.expiresAt,
    expiredBy: () => tokensAliveSince(clock),
  })
