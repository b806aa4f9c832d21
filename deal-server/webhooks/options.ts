import { standardRetriesMs } from './back-off.ts'

/** Times and sizes of the work for webhooks; times in milliseconds. */
export interface WebhookOptions {
  /** The id of this server. */
  readonly owner: string
  readonly leaseMs: number
  /** How often this server renews its leases. */
  readonly renewMs: number
  /** How often it looks for webhooks that are new, free or changed. */
  readonly lookMs: number
  /** The interval of reads without a wake-up. */
  readonly pollMs: number
  /** How long requests under way have when the server stops. */
  readonly stopGraceMs: number
  readonly pageSize: number
  /** Deals whose events one webhook sends side by side. */
  readonly concurrency: number
  /** Requests of all webhooks at once. */
  readonly maxRequests: number
  /** With this many deals that wait, no new deal begins. */
  readonly maxBlocked: number
  /** After this many failures in a row, the receiver seems to be down. */
  readonly downAfter: number
  readonly retriesMs: readonly number[]
}

/** The defaults; `owner` has none. */
export const webhookDefaults: Omit<WebhookOptions, 'owner'> = {
  leaseMs: 6_000,
  renewMs: 2_000,
  lookMs: 1_000,
  pollMs: 1_000,
  stopGraceMs: 2_000,
  pageSize: 200,
  concurrency: 8,
  maxRequests: 32,
  maxBlocked: 1_000,
  downAfter: 10,
  retriesMs: standardRetriesMs,
}
