/** Webhooks and attempts as clients read them. No secret is among the members. */
import type { Clock } from '../../../shared/platform/clock.ts'
import { differenceOf } from '../../../shared/protocol/entry-changes.ts'
import type { Attempt, WebhookView } from '../../webhooks/ports.ts'

/** The collection of webhooks. */
export const webhooksPath = '/rest/v1/webhooks'

/** The path of a webhook. */
export const pathOfWebhook = ({ id }: { readonly id: string }): string => `${webhooksPath}/${id}`

/** A webhook in responses. */
export const representWebhook = (webhook: WebhookView, clock: Clock) => ({
  id: webhook.id,
  url: webhook.url,
  types: webhook.types,
  deals: webhook.deals,
  description: webhook.description,
  state: webhook.state,
  pausedReason: webhook.pausedReason,
  pausedAt: webhook.pausedAt,
  position: webhook.markedPosition,
  responsible: webhook.responsible.username,
  formerSecretUntil: webhook.formerSecret === null ? null : webhook.formerSecretUntil,
  createdBy: webhook.createdBy,
  createdAt: webhook.createdAt,
  updatedAt: webhook.updatedAt,
  health: healthOf(webhook, clock),
  links: { self: pathOfWebhook(webhook), deliveries: `${pathOfWebhook(webhook)}/deliveries` },
})

function healthOf({ health, blockedDeals, nextAttemptAt, oldestWaitingAt }: WebhookView, clock: Clock) {
  const { failures, lastSuccessAt, lastFailureAt, lastFailureStatus, lastFailureReason, heldUntil } = health
  const next = [nextAttemptAt, heldUntil].filter((time) => time !== null).sort()
  const lagMs = oldestWaitingAt === null ? 0 : clock.now() - Date.parse(oldestWaitingAt)
  return {
    failures,
    lastSuccessAt,
    lastFailureAt,
    lastFailureStatus,
    lastFailureReason,
    blockedDeals,
    nextAttemptAt: blockedDeals === 0 ? null : (next.at(-1) ?? null),
    lagSeconds: Math.max(0, lagMs / 1000),
  }
}

type AuditedWebhook = Pick<WebhookView, 'url' | 'types' | 'deals' | 'description' | 'state'>

/** What the audit log tells of a webhook. The path of its URL may be a secret. */
const auditedOf = ({ url, types, deals, description, state }: AuditedWebhook) => ({
  url: new URL(url).origin,
  types,
  deals,
  description,
  state,
})

/** What the change of a webhook gave and took; undefined: there was none before, or there is none any more. */
export function webhookChanges(before: AuditedWebhook | undefined, after: AuditedWebhook | undefined) {
  const changes = differenceOf(before ? auditedOf(before) : {}, after ? auditedOf(after) : {})
  const isOtherUrl = before && after && before.url !== after.url && !changes.some(({ member }) => member === 'url')
  return isOtherUrl ? [{ added: ['another path'], member: 'url', removed: [] }, ...changes] : changes
}

/** An attempt in responses. */
export const representAttempt = ({ dealId, eventId, type, attempt, at, ...rest }: Attempt) => ({
  eventId,
  type,
  deal: dealId,
  attempt,
  at,
  durationMs: rest.durationMs,
  outcome: rest.outcome,
  status: rest.status,
  reason: rest.reason,
})
