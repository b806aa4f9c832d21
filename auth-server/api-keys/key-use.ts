/** Stores the use of keys: the last use, and the expiry of tokens made with a key. Deletes old keys. */
import { sql } from 'drizzle-orm'
import { type Clock, rfc3339 } from '../../shared/platform/clock.ts'
import type { Database } from '../../shared/platform/database/database.ts'
import { expiryJob } from '../../shared/platform/database/expiry-job.ts'
import type { HousekeepingJob } from '../../shared/platform/database/housekeeping.ts'
import { apiKeys } from '../store/schema.ts'
import { tokensAliveSince } from '../users/principal-record.ts'
import { isApiKeyId } from './api-key-rows.ts'

/** The database and the clock that these statements use. */
interface KeyUsePorts {
  readonly database: Pick<Database, 'query'>
  readonly clock: Clock
}

/** One statement: it runs before a revocation, which then sees the token, or it finds the key revoked. */
const keepSql = `update auth.api_keys set tokens_expire_at = greatest(tokens_expire_at, $2::text::timestamptz)
  where id = $1::text::uuid and revoked_at is null and (expires_at is null or expires_at > $3::text::timestamptz)
  returning true as kept`

/**
 * Remembers that an access token made with the key is valid until `expiresAt` (milliseconds). False when the key was
 * revoked or has expired. @throws Unavailable
 */
export async function keepForTokens({ database, clock }: KeyUsePorts, id: string, expiresAt: number): Promise<boolean> {
  if (!isApiKeyId(id)) return false
  const rows = await database.query(keepSql, [id, rfc3339(expiresAt), rfc3339(clock.now())])
  return rows.length === 1
}

/** Steps in which "last used" moves, for all servers together, in seconds: half of the interval of each server. */
const stepSeconds = 30

const useSql = `update auth.api_keys set last_used_at = $2::text::timestamptz
  where id = $1::text::uuid
    and (last_used_at is null or last_used_at < $2::text::timestamptz - interval '${stepSeconds} s')`

/** Stores that a key was used now. Writes at most once in `stepSeconds`. @throws Unavailable */
export async function noteUse({ database, clock }: KeyUsePorts, id: string): Promise<void> {
  if (isApiKeyId(id)) await database.query(useSql, [id, rfc3339(clock.now())])
}

/** Deletes revoked and expired keys when the last token made with them has expired, for the slowest clock too. */
export const createApiKeyExpiry = (clock: Clock): HousekeepingJob =>
  expiryJob({
    name: 'API keys',
    table: apiKeys,
    expiresAt: sql`least(revoked_at, expires_at)`,
    expiredBy: () => tokensAliveSince(clock),
    condition: (expiredBy) => sql`coalesce(tokens_expire_at <= ${expiredBy}, true)`,
  })
