import type { Clock } from '../clock.ts'
import type { Log } from '../log/log.ts'
import type { Metrics, ServerName } from '../metrics/metrics.ts'

/** What was found in the cache without the HMAC of a server of this installation, and was not believed. */
export type Forgery = 'entry' | 'message'

export interface ForgeryReport {
  /** One was found. */
  readonly note: (forgery: Forgery) => void
  /** Counts them among a server's metrics. */
  observe(metrics: Metrics, server: ServerName): void
}

/** At most one line in so many milliseconds. */
const logEveryMs = 60_000

/** The report of one process: a count for the metrics, and now and then a line in the log. */
export function reportForgeries({ log, clock }: { log: Pick<Log, 'warn'>; clock: Clock }): ForgeryReport {
  const counts = { entry: 0, message: 0 }
  let saidAt = Number.NEGATIVE_INFINITY
  return {
    note: (forgery) => {
      counts[forgery] += 1
      if (clock.monotonic() - saidAt < logEveryMs) return
      saidAt = clock.monotonic()
      log.warn(
        { forgery, ...counts },
        'Redis holds what no server with this SERVICE_SECRET wrote; it is not believed, the auth server is asked instead',
      )
    },
    observe: (metrics, server) =>
      metrics.total(
        {
          name: 'cache_forgeries_total',
          help: 'What was found in Redis without the HMAC of a server of this installation.',
          labels: ['kind'],
        },
        server,
        () => Object.entries(counts).map(([kind, value]) => ({ labels: { kind }, value })),
      ),
  }
}
