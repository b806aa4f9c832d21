/** Webhooks and attempts as the API shows them. */

/** A webhook. */
export interface Webhook {
  readonly id: string
  readonly url: string
  readonly types: readonly string[]
  readonly deals: readonly string[]
  readonly description: string | null
  readonly state: 'active' | 'paused'
  readonly pausedReason: string | null
  readonly pausedAt: string | null
  readonly position: string
  readonly responsible: string
  readonly formerSecretUntil: string | null
  readonly createdBy: string
  readonly createdAt: string
  readonly health: {
    readonly failures: number
    readonly lastSuccessAt: string | null
    readonly lastFailureAt: string | null
    readonly lastFailureStatus: number | null
    readonly lastFailureReason: string | null
    readonly blockedDeals: number
    readonly lagSeconds: number
  }
}

/** An attempt to deliver an event. */
export interface Attempt {
  readonly eventId: string
  readonly type: string
  readonly deal: string | null
  readonly attempt: number
  readonly at: string
  readonly durationMs: number
  readonly outcome: 'delivered' | 'failed'
  readonly status: number | null
  readonly reason: string | null
}

/** The page of all webhooks, and those of one. */
export const webhooksPath = '/console/webhooks'

/** The page of a webhook. */
export const pathOfWebhook = (id: string): string => `${webhooksPath}/${encodeURIComponent(id)}`
