/**
 * Webhooks: what they are, and the ports to where they are stored (`store/webhooks/`).
 * Rules: docs/webhooks.md.
 */
import type { Page, PageRequest } from '../../shared/platform/pagination.ts'
import type { PostFailure } from '../../shared/platform/webhooks/guarded-post.ts'
import type { LoggedEvent } from '../events/event-log.ts'
import type { Place } from '../events/position.ts'

/** Why a webhook is paused. */
export type PauseReason =
  | 'by-user'
  | 'failing'
  | 'gone'
  | 'responsible-disabled'
  | 'responsible-lacks-right'
  | 'responsible-logged-out'
  | 'secret-unreadable'

/** Why an attempt failed. */
export type FailureReason = PostFailure | 'refused' | 'redirect' | 'gone'

/** The events that a webhook gets. */
export interface WebhookFilter {
  /** All types when empty. */
  readonly types: readonly string[]
  /** Ids of deals; all deals when empty. */
  readonly deals: readonly string[]
}

/** The user under whose rights events are sent. */
export interface Responsible {
  readonly username: string
  readonly userId: string
  /** False: this user could not see past events of any deleted deal when the webhook was set up. */
  readonly seesDeleted: boolean
  /** The user's credential generation at the last change; null when it was made before this was stored. */
  readonly generation: number | null
}

/** The secrets of a webhook, sealed. */
export interface SealedSecrets {
  readonly secret: string
  readonly formerSecret: string | null
  /** RFC 3339: until then the former secret signs too. */
  readonly formerSecretUntil: string | null
}

/** The settings of a webhook that a client chooses. */
export interface WebhookSettings extends WebhookFilter {
  readonly url: string
  readonly description: string | null
}

/** A webhook. Times are RFC 3339. */
export interface Webhook extends WebhookSettings, SealedSecrets {
  readonly id: string
  readonly state: 'active' | 'paused'
  readonly pausedReason: PauseReason | null
  readonly pausedAt: string | null
  readonly createdBy: string
  readonly createdAt: string
  readonly updatedAt: string
  readonly responsible: Responsible
  /** Grows with every change by a client. */
  readonly revision: number
  /** Every event up to this one was delivered, left out, or waits in a blocked deal. */
  readonly position: number
  readonly health: WebhookHealth
}

/** How the deliveries of a webhook go. */
export interface WebhookHealth {
  /** Failed attempts since the last success. */
  readonly failures: number
  readonly lastSuccessAt: string | null
  readonly lastFailureAt: string | null
  readonly lastFailureStatus: number | null
  readonly lastFailureReason: FailureReason | null
  /** The receiver asked for no request before this time. */
  readonly heldUntil: string | null
}

/** A webhook with what is waiting for it. */
export interface WebhookView extends Webhook {
  /** The number of deals whose events wait behind one that the receiver did not take. */
  readonly blockedDeals: number
  /** The earliest next attempt for one of them; null without any. */
  readonly nextAttemptAt: string | null
  /** When the oldest event happened that is not delivered yet; null when all are. */
  readonly oldestWaitingAt: string | null
  /** The marked position up to which events were looked at. */
  readonly markedPosition: string
}

/** An attempt to deliver an event. */
export interface Attempt {
  readonly eventId: string
  readonly type: string
  /** Null for a test. */
  readonly dealId: string | null
  /** Counts the attempts for this event in this run, from 1. */
  readonly attempt: number
  readonly at: string
  readonly durationMs: number
  readonly outcome: 'delivered' | 'failed'
  /** Null when no answer came. */
  readonly status: number | null
  /** Null for a delivery. */
  readonly reason: FailureReason | null
}

/** A stored attempt. */
export interface StoredAttempt extends Attempt {
  readonly id: number
}

/** A webhook that is to be stored. */
export interface NewWebhook extends WebhookSettings {
  readonly id: string
  readonly sealedSecret: string
  readonly responsible: Responsible
  /** RFC 3339. */
  readonly at: string
  /** It begins after the event at this position; 0: at the beginning. */
  readonly position: number
}

/** A change by a client. Members that are left out stay. */
export interface WebhookChange extends Partial<WebhookSettings> {
  /** RFC 3339. */
  readonly at: string
  readonly state?: Webhook['state']
  readonly responsible: Responsible
}

/** The webhooks as clients manage them. Every method @throws Unavailable */
export interface WebhookStore {
  /** Undefined when there are `max` webhooks already. */
  create(webhook: NewWebhook, max: number): Promise<WebhookView | undefined>
  /** Oldest first. */
  list(page: PageRequest): Promise<Page<WebhookView>>
  find(id: string): Promise<WebhookView | undefined>
  change(id: string, change: WebhookChange): Promise<WebhookView | undefined>
  /** False without such a webhook. */
  remove(id: string): Promise<boolean>
  /** Replaces the secrets. */
  replaceSecrets(id: string, secrets: SealedSecrets, at: string): Promise<WebhookView | undefined>
  /** Goes back to this position; never forward. */
  rewind(id: string, position: number, at: string): Promise<WebhookView | undefined>
  /** The last attempts, newest first. */
  attempts(id: string, page: PageRequest): Promise<Page<StoredAttempt>>
  noteAttempt(id: string, attempt: Attempt): Promise<void>
  /** All sealed secrets, to seal them again. */
  sealedSecrets(): Promise<readonly ({ readonly id: string } & SealedSecrets)[]>
  /** Stores newly sealed secrets, unless they have changed since. */
  reseal(id: string, before: SealedSecrets, sealed: SealedSecrets): Promise<void>
}

/** A deal whose events wait behind one that the receiver did not take. */
export interface BlockedDeal {
  readonly dealId: string
  /** Events of the deal before this one were delivered or left out. */
  readonly sequence: number
  readonly attempts: number
  /** Milliseconds since 1970. */
  readonly nextAttemptAt: number
  /** RFC 3339: when the first waiting event happened. */
  readonly since: string
}

/** A webhook whose events this server sends. */
export interface LoadedWebhook {
  readonly webhook: Webhook
  readonly place: Place
  readonly blocked: readonly BlockedDeal[]
}

/** What other servers see of the work. */
export interface WebhookHead {
  readonly id: string
  readonly revision: number
  /** The server that sends; null when nobody has it. */
  readonly owner: string | null
  /** True when a server may take it. */
  readonly isFree: boolean
}

/** All active webhooks, and how many are paused. */
export interface WebhookHeads {
  readonly active: readonly WebhookHead[]
  readonly paused: number
  /** True when the report of an earlier pause is missing. */
  readonly isReportMissing: boolean
}

/** What a server did for a webhook since it last stored it. */
export interface Progress {
  readonly id: string
  readonly owner: string
  readonly revision: number
  readonly leaseMs: number
  /** In another history than the present one: then nothing is stored. */
  readonly place: Place
  readonly health: WebhookHealth
  readonly pausedReason: PauseReason | null
  /** RFC 3339; null while active. */
  readonly pausedAt: string | null
  /** The deals that are blocked now, as far as they changed. */
  readonly blocked: readonly BlockedDeal[]
  /** Deals that are blocked no more. */
  readonly unblocked: readonly string[]
  readonly attempts: readonly Attempt[]
}

/** The events of one deal that wait. */
export interface WaitingEvents {
  readonly dealId: string
  /** From this one on. */
  readonly sequence: number
  /** Up to this place in the log. */
  readonly upTo: Place
  readonly limit: number
  /** Marks events of deleted deals as hidden. */
  readonly hidesDeleted: boolean
}

/** A pause that the auth server has not been told of. */
export interface UnreportedPause {
  readonly id: string
  readonly reason: PauseReason
  readonly pausedAt: string
}

/** The webhooks as servers work for them: one server at a time for each. Every method @throws Unavailable */
export interface WebhookWork {
  heads(): Promise<WebhookHeads>
  /** Takes every free webhook for `leaseMs`. Answers their ids. */
  claim(owner: string, leaseMs: number): Promise<readonly string[]>
  /** Keeps all webhooks of this server. Answers their ids. */
  renew(owner: string, leaseMs: number): Promise<readonly string[]>
  /** Leaves all webhooks of this server to others. */
  release(owner: string): Promise<void>
  /** Those of these webhooks that this server has and that are active. */
  load(owner: string, ids: readonly string[]): Promise<readonly LoadedWebhook[]>
  /** Stores the credential generation of the responsible user of a webhook without one. */
  adoptGeneration(id: string, generation: number): Promise<void>
  /** Stores progress, and keeps the webhook. False: another server has it, or a client changed it. */
  save(progress: Progress): Promise<boolean>
  waiting(events: WaitingEvents): Promise<readonly LoggedEvent[]>
  /** Pauses that were not reported for this many milliseconds. */
  unreportedPauses(olderThanMs: number): Promise<readonly UnreportedPause[]>
  noteReported(ids: readonly string[]): Promise<void>
}
