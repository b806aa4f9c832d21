import { type Clock, rfc3339 } from '../../shared/platform/clock.ts'
import type { Database } from '../../shared/platform/database/database.ts'
import { isApiKeyId } from './api-key-rows.ts'

/** One statement: either it comes before a revocation, which then sees it, or it finds the key revoked. */
const keepSql = `update auth.api_keys set tokens_expire_at = greatest(tokens_expire_at, $2::text::timestamptz)
  where id = $1::text::uuid and revoked_at is null and (expires_at is null or expires_at > $3::text::timestamptz)
  returning true as kept`

/** Remembers that an access token made with the key lives until `expiresAt`. False when the key is no longer good. @throws Unavailable */
export async function keepForTokens(
  { database, clock }: { database: Pick<Database, 'query'>; clock: Clock },
  id: string,
  expiresAt: number,
): Promise<boolean> {
  if (!isApiKeyId(id)) return false
  const rows = await database.query(keepSql, [id, rfc3339(expiresAt), rfc3339(clock.now())])
  return rows.length === 1
}
