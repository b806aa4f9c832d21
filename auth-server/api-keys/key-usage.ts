import { LRUCache } from 'lru-cache'
import { type Clock, rfc3339 } from '../../shared/clock.ts'
import type { Database } from '../../shared/database/database.ts'
import type { Log } from '../../shared/log.ts'

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
  await database.query(useSql, [id, rfc3339(clock.now())])
}

/** Reports at most once in a minute per key, in the background: no request waits for it, none fails by it. */
export function reportUses(
  report: (id: string) => Promise<void>,
  { clock, log }: { clock: Clock; log: Pick<Log, 'debug'> },
): (id: string) => void {
  const reported = new LRUCache<string, true>({
    max: 10_000,
    ttl: 60_000,
    ttlResolution: 0,
    perf: { now: clock.monotonic },
  })
  return (id) => {
    if (reported.has(id)) return
    reported.set(id, true)
    report(id).catch((err: unknown) => log.debug({ err }, 'the use of an API key was not reported'))
  }
}
