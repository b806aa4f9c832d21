import { LRUCache } from 'lru-cache'
import type { Clock } from '../clock.ts'
import type { Log } from '../log.ts'

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
