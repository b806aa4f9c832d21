/**
 * The audit log: what was issued, revoked and administered, by whom and from where (docs/contract.md#audit-log). This folder owns the entries,
 * their chain and its check; it must not know what the actions do.
 *
 * An entry is written when what it tells has been decided, and before anybody is answered. If it cannot be written, the answer is 503
 * although the change stands: what was issued is then handed out to nobody, and whoever tries a change again finds it done. The theft
 * of a refresh token is the exception: it is written down before the login ends, since it cannot be detected twice.
 *
 * Of equal refusals one a minute is an entry, which says how many it stands for: strangers cannot fill the log.
 */
import type { LimitRefusal, NoteRefusal } from '../../shared/protocol/login-throttle/limit-refusals.ts'

/** What happened, as far as its doer says; `seq` and `at` are the log's own. */
export interface AuditEvent {
  /** User name; null when nobody has been authenticated. Whatever has not the form of a name is stored as null. */
  readonly actor: string | null
  /** Dotted and past tense, as events of deals: `login.started`, `api-key.revoked`, `user.changed`. */
  readonly action: string
  /** What it was done to: a user name or an id, never a secret; null when there is none. What has neither form is stored as null. */
  readonly target: string | null
  /** `succeeded`, the code of the refusal, or why a login ended that its user did not end. */
  readonly outcome: string
  readonly scheme: string | null
  readonly address: string | null
  readonly requestId: string | null
}

/** An entry as it stands in the log. */
export interface AuditEntry extends AuditEvent {
  /** Without gaps, from 1. */
  readonly seq: number
  /** When it happened, RFC 3339 in UTC with milliseconds. Of several equal refusals: the latest one. */
  readonly at: string
  /** How many equal refusals it stands for: those that were left out since the entry before it, and this one; else 1. */
  readonly count: number
}

/** How far the log goes: so many entries, and what the last one's MAC is. Known elsewhere, it shows that entries were cut off. */
export interface AuditHead {
  readonly count: number
  /** HMAC-SHA256, base64url; empty for the empty log. */
  readonly digest: string
}

/** The log, to write to. */
export interface Audit {
  /** Writes down what took place; resolves when the entry is stored. @throws Unavailable */
  record(event: AuditEvent): Promise<void>
  /**
   * Writes down a refusal, or `times` equal ones; or counts them when an equal one was written down less than a minute ago.
   * @throws Unavailable
   */
  recordRefusal(event: AuditEvent, times?: number): Promise<void>
}

/** What a caller of each scheme tried to prove. */
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
