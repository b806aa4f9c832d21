import type { Cache } from '../../../shared/platform/cache/cache.ts'
import type { Clock } from '../../../shared/platform/clock.ts'
import type { IdSource } from '../../../shared/platform/ids.ts'
import type { Log } from '../../../shared/platform/log/log.ts'

/** What a service gives, so that it can follow an auth server. */
export interface ServiceSystems {
  readonly cache: Cache
  readonly clock: Clock
  readonly ids: IdSource
  readonly log: Pick<Log, 'debug' | 'info' | 'warn' | 'error'>
  readonly fetch: typeof globalThis.fetch
  /** The id of the service; left out for the deal server, which has SERVICE_SECRET. */
  readonly serviceId?: string
  /** The current secret of the service at the auth server. */
  readonly serviceSecret: string
  /** Called when the auth server refuses the credential of the service itself. */
  readonly onRefused?: () => void
}
