/**
 * The audit log: what was issued, revoked and administered, by whom and from where (CONTRACT section 8). This folder owns the entries,
 * their chain and its check; it must not know what the actions do.
 */

/** What happened, as far as its doer says; `seq` and `at` are the log's own. */
export interface AuditEvent {
  /** User name; null when nobody has been authenticated. */
  readonly actor: string | null
  /** Dotted and past tense, as events of deals: `login.started`, `api-key.revoked`, `user.changed`. */
  readonly action: string
  /** What it was done to: a user name or an id, never a secret; null when there is none. */
  readonly target: string | null
  /** `succeeded`, or the code of the refusal. */
  readonly outcome: string
  readonly scheme: string | null
  readonly address: string | null
  readonly requestId: string | null
}

/** The log, to write to. */
export interface Audit {
  /** Resolves when the entry is stored. @throws Unavailable */
  record(event: AuditEvent): Promise<void>
}
