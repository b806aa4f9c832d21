/**
 * The audit log: what was issued, revoked and administered, by whom and from where
 * (docs/contract/operators.md#audit-log).
 *
 * The entry of a change is stored in the transaction of the change (`change-entries.ts`). An entry that tells of no
 * change, such as a refusal, is stored before the response. If it cannot be stored, the response is 503.
 *
 * Of equal refusals only one a minute becomes an entry, with their number, so that clients cannot fill the log.
 */

import type { ChangeEntry, EntryChange, EntryOrigin } from '../../shared/protocol/entry-changes.ts'
import type { LimitRefusal } from '../../shared/protocol/internal-api/limit-refusals.ts'
import type { NoteWebhookChanges } from '../../shared/protocol/internal-api/webhook-changes.ts'
import type { NoteWebhookPauses } from '../../shared/protocol/internal-api/webhook-pauses.ts'
import type { NoteRefusal } from '../../shared/server/login-throttle/limit-refusals.ts'

/** An event to be logged. The log adds `seq` and `at`. */
export interface AuditEvent extends EntryOrigin {
  /** With dots and in the past tense, like events of deals: `login.started`, `api-key.revoked`, `user.changed`. */
  readonly action: string
  /**
   * The user name or id that the action changed, never a secret; null when there is none. Another text is stored as
   * null.
   */
  readonly target: string | null
  /** `succeeded`, the problem code of a refusal, or the reason of a revocation that the user did not ask for. */
  readonly outcome: string
  /** What an operator gave as the reason, in words; left out or null when there is none. */
  readonly reason?: string | null
  /** What the change gave and took, where the action alone does not say it. */
  readonly changes?: readonly EntryChange[] | undefined
}

/** The part of an event that says who asked, from where, and why. */
export type Origin = EntryOrigin & Pick<AuditEvent, 'reason'>

/** The scheme of what operators do on the machine itself. Their names are not authenticated. */
export const operatorScheme = 'ops'

/** An event whose time is not that of its entry. */
export interface TimedEvent extends AuditEvent {
  /** RFC 3339 in UTC with milliseconds. */
  readonly at: string
}

/** An entry of the log. */
export interface AuditEntry extends AuditEvent {
  readonly client: string | null
  readonly reason: string | null
  /** Without gaps, from 1. */
  readonly seq: number
  /** The time of the event, RFC 3339 in UTC with milliseconds. For several equal refusals, the time of the last. */
  readonly at: string
  /**
   * How many equal refusals the entry stands for: this one and those left out since the last such entry; otherwise 1.
   */
  readonly count: number
}

/**
 * The length of the log and the MAC of its last entry. A head that is stored elsewhere shows whether entries were cut
 * off.
 */
export interface AuditHead {
  readonly count: number
  /** HMAC-SHA256, base64url; empty for the empty log. */
  readonly digest: string
}

/** Writes to the log. */
export interface Audit {
  /** Checks whether entries can be stored, as far as it is known. @throws Unavailable when they cannot */
  check(): void
  /** Logs an event. Resolves when the entry is stored. @throws Unavailable */
  record(event: AuditEvent): Promise<void>
  /**
   * Logs a refusal, or `times` equal refusals. Only counts them when an equal refusal was logged less than a minute
   * ago. So do tokens that a proxy gets at each request.
   * @throws Unavailable
   */
  recordRefusal(event: AuditEvent, times?: number): Promise<void>
  /**
   * Runs work that may change something. The first change stores `entry` with it; changes that have entries of their
   * own store those. If no change stored `entry`, it is stored afterwards. A refusal of the work is logged with its
   * code. An unavailable dependency is not, because the server decided nothing. While entries cannot be stored, work
   * with an entry does not begin: nothing is hashed or decided in vain.
   * @throws the error of `run`; Unavailable when an entry cannot be stored
   */
  during<Result>(origin: Origin, entry: ChangeEntry | undefined, run: () => Promise<Result>): Promise<Result>
  /**
   * The same without an entry of its own, for work whose changes all begin before its first `await`. It costs nothing
   * at each `await` of the process, as the context of other work does on Node.js 20. @throws the error of `run`
   */
  beginning<Result>(origin: Origin, run: () => Promise<Result>): Promise<Result>
}

/** The action of a refused check, by scheme. */
const actions: Readonly<Record<LimitRefusal['scheme'], string>> = {
  basic: 'password.verified',
  'key-signed': 'password.verified',
  digest: 'digest-secret.verified',
}

/** Logs requests refused by a limit, on either server. Of the checks made on every request, only these are logged. */
export const recordRefusals =
  (audit: Audit): NoteRefusal =>
  ({ count, ...refusal }) => {
    const event = { ...refusal, action: actions[refusal.scheme], outcome: 'too-many-attempts', requestId: null }
    return audit.recordRefusal(event, count)
  }

/** Logs webhooks that a deal server paused. */
export const recordWebhookPauses =
  (audit: Audit): NoteWebhookPauses =>
  async (pauses) => {
    const nobody = { actor: null, scheme: null, address: null, requestId: null }
    for (const { id: target, reason: outcome } of pauses) {
      await audit.record({ ...nobody, action: 'webhook.paused', target, outcome })
    }
  }

/** Logs what users did with webhooks at a deal server. */
export const recordWebhookChanges =
  (audit: Audit): NoteWebhookChanges =>
  async (changes) => {
    for (const change of changes) await audit.record({ ...change, outcome: 'succeeded' })
  }
