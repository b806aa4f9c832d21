import type { Cache } from '../cache/cache.ts'
import type { Clock } from '../clock.ts'
import type { Database } from '../database/database.ts'
import type { IdSource } from '../ids.ts'
import type { Log } from '../log/log.ts'
import type { Metrics } from '../metrics/metrics.ts'
import type { Tracing } from '../tracing/tracing.ts'

/** The systems that a server runs on. A function takes all of them, and its first line names those that it uses. */
export interface Systems {
  readonly database: Database
  readonly cache: Cache
  readonly clock: Clock
  readonly ids: IdSource
  readonly log: Log
  /** The metrics of the process. */
  readonly metrics: Metrics
  /** The traces of this server. Without them there are none. */
  readonly tracing?: Tracing | undefined
}
