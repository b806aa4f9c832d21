import { sql } from 'drizzle-orm'
import type { Clock } from '../../shared/platform/clock.ts'
import { expiryJob } from '../../shared/platform/database/expiry-job.ts'
import type { HousekeepingJob } from '../../shared/platform/database/housekeeping.ts'
import { apiKeys } from '../store/schema.ts'
import { tokensAliveSince } from '../users/principal-record.ts'

/** Keys that were revoked or have expired, once the last token made with them has expired, for the slowest clock too. */
export const createApiKeyExpiry = (clock: Clock): HousekeepingJob =>
  expiryJob({
    name: 'API keys',
    table: apiKeys,
    expiresAt: sql`least(revoked_at, expires_at)`,
    expiredBy: () => tokensAliveSince(clock),
    condition: (expiredBy) => sql`coalesce(tokens_expire_at <= ${expiredBy}, true)`,
  })
