/** What users did with webhooks at a deal server, for the audit log. Answered when all of it is written down. */
import * as z from 'zod'
import { entryChangeSchema } from '../entry-changes.ts'
import { usernamePattern } from '../principal/record.ts'
import { defineExchange } from './exchange.ts'

/** At most this many can be told of at once. */
const maxChangesAtOnce = 100

/** What can be done with a webhook, as the action of an entry. */
export const webhookActions = [
  'webhook.created',
  'webhook.changed',
  'webhook.deleted',
  'webhook.secret-rotated',
  'webhook.redelivered',
  'webhook.tested',
] as const

/** One thing that a user did. */
const changeSchema = z.object({
  action: z.enum(webhookActions),
  /** The id of the webhook. */
  target: z.uuid(),
  actor: z.string().regex(usernamePattern),
  /** The name of the application; left out for a credential of the user's own. */
  client: z
    .string()
    .regex(/^[^\p{Cc}\p{Cs}]{1,256}$/u)
    .optional(),
  scheme: z.string().regex(/^[a-z-]{1,40}$/),
  /** The address of the client; null when it is not known. */
  address: z.string().max(100).nullable(),
  requestId: z.uuid(),
  changes: z.array(entryChangeSchema).max(10).optional(),
})

/** One thing that a user did with a webhook. */
export type ReportedChange = z.infer<typeof changeSchema>

/** Notes changes. @throws Unavailable */
export type NoteWebhookChanges = (changes: readonly ReportedChange[]) => Promise<void>

/** Reports what users did with webhooks, 1 to 100. */
export const webhookChangesExchange = defineExchange({
  method: 'POST',
  path: '/webhook-changes',
  requestBody: z.object({ changes: z.array(changeSchema).min(1).max(maxChangesAtOnce) }),
})
