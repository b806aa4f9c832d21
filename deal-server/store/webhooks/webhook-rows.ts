/** Converts rows of webhooks in PostgreSQL's JSON form. Column names are those of `schema.ts`. */
import type { JsonRow } from '../../../shared/platform/database/statement.ts'
import { markedPosition } from '../../events/position.ts'
import type { StoredAttempt, Webhook, WebhookView } from '../../webhooks/ports.ts'
import { rfc3339OfRow } from '../rows.ts'
import type { webhookAttempts, webhooks } from '../schema.ts'

/** A row of `deals.webhooks`. */
export type WebhookRow = JsonRow<typeof webhooks>

/** What is waiting for a webhook. */
export interface WaitingRow {
  readonly webhook: WebhookRow
  readonly blocked: { readonly count: number; readonly next: string | null; readonly since: string | null }
  /** When the first event after its position happened. */
  readonly behind_since: string | null
  readonly history: string
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
export const attemptOfRow = ({ webhookId: _, at, ...row }: typeof webhookAttempts.$inferSelect): StoredAttempt => ({
  at: rfc3339OfRow(at),
  ...row,
})
