/** Converts rows of webhooks in PostgreSQL's JSON form. Column names are those of `schema.ts`. */
import { markedPosition } from '../events/position.ts'
import type { PauseReason, StoredAttempt, Webhook, WebhookView } from '../webhooks/ports.ts'
import { rfc3339OfRow } from './rows.ts'

/** A row of `deals.webhooks` in the form of `to_json`. */
export interface WebhookRow {
  readonly id: string
  readonly url: string
  readonly types: readonly string[]
  readonly deals: readonly string[]
  readonly description: string | null
  readonly state: Webhook['state']
  readonly paused_reason: PauseReason | null
  readonly paused_at: string | null
  readonly created_by: string
  readonly created_at: string
  readonly updated_at: string
  readonly responsible: string
  readonly responsible_user_id: string
  readonly responsible_generation: number | null
  readonly sees_deleted: boolean
  readonly secret: string
  readonly former_secret: string | null
  readonly former_secret_until: string | null
  readonly revision: number
  readonly position: number
  readonly failures: number
  readonly last_success_at: string | null
  readonly last_failure_at: string | null
  readonly last_failure_status: number | null
  readonly last_failure_reason: string | null
  readonly held_until: string | null
}

/** What is waiting for a webhook. */
export interface WaitingRow {
  readonly webhook: WebhookRow
  readonly blocked: { readonly count: number; readonly next: string | null; readonly since: string | null }
  /** When the first event after its position happened. */
  readonly behind_since: string | null
  readonly history: string
}

/** A row of `deals.webhook_attempts`. */
export interface AttemptRow {
  readonly id: number
  readonly event_id: string
  readonly type: string
  readonly deal_id: string | null
  readonly attempt: number
  readonly at: string
  readonly duration_ms: number
  readonly outcome: StoredAttempt['outcome']
  readonly status: number | null
  readonly reason: string | null
}

const timeOf = (text: string | null): string | null => (text === null ? null : rfc3339OfRow(text))

/** The webhook of a row. */
export const webhookOfRow = (row: WebhookRow): Webhook => ({
  id: row.id,
  url: row.url,
  types: row.types,
  deals: row.deals,
  description: row.description,
  state: row.state,
  pausedReason: row.paused_reason,
  pausedAt: timeOf(row.paused_at),
  createdBy: row.created_by,
  createdAt: rfc3339OfRow(row.created_at),
  updatedAt: rfc3339OfRow(row.updated_at),
  responsible: {
    username: row.responsible,
    userId: row.responsible_user_id,
    seesDeleted: row.sees_deleted,
    generation: row.responsible_generation,
  },
  secret: row.secret,
  formerSecret: row.former_secret,
  formerSecretUntil: timeOf(row.former_secret_until),
  revision: row.revision,
  position: row.position,
  health: {
    failures: row.failures,
    lastSuccessAt: timeOf(row.last_success_at),
    lastFailureAt: timeOf(row.last_failure_at),
    lastFailureStatus: row.last_failure_status,
    lastFailureReason: row.last_failure_reason,
    heldUntil: timeOf(row.held_until),
  },
})

/** The webhook of a row, with what is waiting for it. */
export function viewOfRow({ webhook, blocked, behind_since, history }: WaitingRow): WebhookView {
  const waiting = [timeOf(blocked.since), timeOf(behind_since)].filter((time) => time !== null).sort()
  return {
    ...webhookOfRow(webhook),
    blockedDeals: blocked.count,
    nextAttemptAt: timeOf(blocked.next),
    oldestWaitingAt: waiting[0] ?? null,
    markedPosition: markedPosition({ position: webhook.position, history }),
  }
}

/** The attempt of a row. */
export const attemptOfRow = (row: AttemptRow): StoredAttempt => ({
  id: row.id,
  eventId: row.event_id,
  type: row.type,
  dealId: row.deal_id,
  attempt: row.attempt,
  at: rfc3339OfRow(row.at),
  durationMs: row.duration_ms,
  outcome: row.outcome,
  status: row.status,
  reason: row.reason,
})
