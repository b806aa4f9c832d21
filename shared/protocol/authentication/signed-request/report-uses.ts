import { createBoundedCache } from '../../../platform/cache/bounded-cache.ts'
import type { Clock } from '../../../platform/clock.ts'
import type { Log } from '../../../platform/log/log.ts'

/**
 * A function that reports uses of API keys or services, at most once a minute for each and in the background: no
 * request waits for a report or fails by it.
 */
export function reportUses(
  report: (id: string) => Promise<void>,
  { clock, log }: { clock: Clock; log: Pick<Log, 'debug'> },
): (id: string) => void {
  const reported = createBoundedCache<true>({ maxEntries: 10_000, maxBytes: 2_000_000, ttlMs: 60_000, clock })
  return (id) => {
    if (reported.has(id)) return
    reported.set(id, true)
    report(id).catch((err: unknown) => log.debug({ err }, 'The use of a credential was not reported'))
  }
}
