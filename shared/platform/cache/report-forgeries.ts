import type { Clock } from '../clock.ts'
import type { Log } from '../log/log.ts'
import type { Metrics, ServerName } from '../metrics/metrics.ts'

/** A forgery: an entry or a message in the cache without a valid HMAC of our own servers. It is not used. */
export type Forgery = 'entry' | 'message'

/** The shortest time between two log lines, in milliseconds. */
const logEveryMs = 60_000

/** The report of one process: counts for the metrics, and at most one log line in a minute. */
export function reportForgeries({ log, clock }: { log: Pick<Log, 'warn'>; clock: Clock }) {
  const counts = { entry: 0, message: 0 }
  let loggedAt = Number.NEGATIVE_INFINITY
  return {
    /** Notes one forgery. */
    note: (forgery: Forgery): void => {
      counts[forgery] += 1
      if (clock.monotonic() - loggedAt < logEveryMs) return
      loggedAt = clock.monotonic()
      log.warn(
        { forgery, ...counts },
        'Redis holds data that was not written with this SERVICE_SECRET. The server ignores it',
      )
    },
    /** Adds the counts to the metrics of a server. */
    observe: (metrics: Metrics, server: ServerName): void =>
      metrics.total(
        {
          name: 'cache_forgeries_total',
          help: 'What was found in Redis without the HMAC of a server of this instance.',
          labels: ['kind'],
        },
        server,
        () => Object.entries(counts).map(([kind, value]) => ({ labels: { kind }, value })),
      ),
  }
}
