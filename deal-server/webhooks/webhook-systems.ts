import type { Permits } from '../../shared/platform/concurrency/permits.ts'
import type { Principals } from '../../shared/protocol/authentication/authenticate.ts'
import type { EventSystems } from '../events/event-systems.ts'
import type { Deliver } from './deliver.ts'
import type { Attempt, UnreportedPause, WebhookStore, WebhookWork } from './ports.ts'
import type { WebhookSecrets } from './secrets.ts'

/** What the webhooks of a deal server work with. `createWebhooks` makes one for the process. */
export interface WebhookSystems extends EventSystems {
  readonly store: WebhookStore
  readonly work: WebhookWork
  readonly principals: Principals
  readonly secrets: WebhookSecrets
  readonly deliver: Deliver
  /** Bounds the requests of all senders of the process. */
  readonly permits: Permits
  /** From 0 to 1. */
  readonly random: () => number
  /** True when the auth server has stored the report. @throws Unavailable */
  readonly report: (pauses: readonly UnreportedPause[]) => Promise<boolean>
  readonly onAttempt: (attempt: Attempt) => void
}
