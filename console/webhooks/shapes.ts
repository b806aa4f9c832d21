/** Webhooks and attempts as the API shows them, and their pages. */
import type { DealReply } from '../frame/deal-api.ts'

/** A webhook. */
export type Webhook = DealReply<'GET /rest/v1/webhooks/:id'>

/** An attempt to deliver an event. */
export type Attempt = DealReply<'GET /rest/v1/webhooks/:id/deliveries'>['items'][number]

/** The page of all webhooks, and those of one. */
export const webhookPagesPath = '/console/webhooks'

/** The page of a webhook. */
export const pageOfWebhook = (id: string): string => `${webhookPagesPath}/${encodeURIComponent(id)}`
