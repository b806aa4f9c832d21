/** Webhooks that a deal server paused, for the audit log. Answered when all of them are written down. */
import * as z from 'zod'
import { defineExchange } from './exchange.ts'

/** A webhook that a deal server paused. */
const pauseSchema = z.object({
  /** The id of the webhook. */
  id: z.uuid(),
  /** A word of the deal server's, such as `failing`. */
  reason: z.string().regex(/^[a-z-]{1,40}$/),
})

/** Notes webhooks that were paused. @throws Unavailable */
export type NoteWebhookPauses = (pauses: readonly z.infer<typeof pauseSchema>[]) => Promise<void>

/** Reports pauses of webhooks, 1 to 100. */
export const webhookPausesExchange = defineExchange({
  method: 'POST',
  path: '/webhook-pauses',
  requestBody: z.object({ pauses: z.array(pauseSchema).min(1).max(100) }),
})
