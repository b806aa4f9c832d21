import { type Clock, rfc3339 } from '../../shared/platform/clock.ts'
import type { Database } from '../../shared/platform/database/database.ts'
import { isApiKeyId } from './api-key-rows.ts'

interface UsagePorts {
  readonly database: Pick<Database, 'query'>
  readonly clock: Clock
}

/** Steps in which "last used" moves, for all servers together, in seconds: half of what each server waits by itself. */
const stepSeconds = 30

const useSql = `update auth.api_keys set last_used_at = $2::text::timestamptz
  where id = $1::text::uuid and (last_used_at is null or last_used_at < $2::text::timestamptz - interval '${stepSeconds} s')`

/** Writes that a key was used just now, unless that stands there already. @throws Unavailable */
export async function noteUse({ database, clock }: UsagePorts, id: string): Promise<void> {
  if (isApiKeyId(id)) await database.query(useSql, [id, rfc3339(clock.now())])
}
