import type { PrincipalFeed } from '../../verify/src/principals/principal-feed.ts'
import type { Followed } from '../../verify/src/service/follow-auth-server.ts'
import type { AskingSystems } from '../auth-client/asking-systems.ts'
import type { EventSystems } from '../events/event-systems.ts'

/** The systems of a deal server. `server.ts` makes one for the process. */
export interface DealSystems extends AskingSystems, EventSystems {
  /** The auth server that it follows. */
  readonly followed: Followed
  readonly feed: PrincipalFeed
  /** Requests to the auth server: spans, where traces are sent. */
  readonly fetch: typeof globalThis.fetch
  /** All accepted values of SERVICE_SECRET. */
  readonly serviceSecrets: readonly string[]
}
