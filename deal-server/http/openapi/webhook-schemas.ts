/** The bodies of webhook routes, and the schemas of their responses. */
import * as z from 'zod'
import type { JsonSchema } from '../../../shared/platform/http/operation.ts'
import { componentSchemas, ref } from '../../../shared/platform/openapi/json-schema.ts'
import { dealEventTypes } from '../../use-cases/apply-events.ts'
import { nameText, uuid } from '../../use-cases/parameters.ts'
import { eventSchema } from './response-schemas.ts'

const url = z.string().meta({
  format: 'uri',
  maxLength: 2048,
  description: 'Where events are sent, by POST. It begins with `https://` and has no user name.',
  examples: ['https://receiver.example/keyhold'],
})

const types = z
  .array(z.enum(dealEventTypes))
  .max(dealEventTypes.length)
  .refine((all) => new Set(all).size === all.length, { message: 'Name each type once.', params: { code: 'repeated' } })
  .meta({ description: 'Only events of these types; all types when empty.' })

const deals = z.array(uuid).max(100).meta({ description: 'Only events of these deals; all deals when empty.' })

const description = nameText
  .nullable()
  .meta({ description: 'For people: what the webhook is for.', examples: ['billing'] })

const after = z
  .string()
  .max(64)
  .meta({ description: 'The position of an event, as streams and histories show it; `0`: the beginning.' })

const proof = {
  password: z
    .string()
    .max(1024)
    .optional()
    .meta({ description: "The caller's password; not needed within five minutes of a login." }),
  code: z.string().max(100).optional().meta({
    description:
      'A one-time code or recovery code beside the password, for users with a second factor whose login has none.',
  }),
}

/** The body of a creation. */
export const creation = z
  .strictObject({
    url,
    types: types.default([]),
    deals: deals.default([]),
    description: description.default(null),
    after: after
      .optional()
      .meta({ description: 'Begin after this position. Left out: with what happens from now on.' }),
    ...proof,
  })
  .meta({ examples: [{ url: 'https://receiver.example/keyhold', types: ['deal.held', 'deal.unheld'] }] })

/** The body of a change. */
export const patch = z
  .strictObject({
    url: url.optional(),
    types: types.optional(),
    deals: deals.optional(),
    description: description.optional(),
    state: z.enum(['active', 'paused']).optional().meta({ description: '`active`: goes on where it was paused.' }),
    ...proof,
  })
  .meta({ examples: [{ state: 'paused' }] })

/** The body of a redelivery. */
export const redelivery = z.strictObject({ after }).meta({ examples: [{ after: '0' }] })

const time = z.string().meta({ format: 'date-time' })
const reasons = [
  ...(['refused', 'redirect', 'gone', 'timeout', 'address-refused', 'name-not-found', 'tls-failed'] as const),
  ...(['connection-failed', 'invalid-response', 'aborted'] as const),
]
const reason = z.enum(reasons)

const health = z.object({
  failures: z.number().int().meta({ description: 'Failed attempts since the last success.' }),
  lastSuccessAt: time.nullable(),
  lastFailureAt: time.nullable(),
  lastFailureStatus: z.number().int().nullable(),
  lastFailureReason: reason.nullable(),
  blockedDeals: z.number().int().meta({ description: 'Deals whose events wait for a retry.' }),
  nextAttemptAt: time.nullable().meta({ description: 'The next retry of a deal that waits.' }),
  lagSeconds: z.number().meta({ description: 'The age of the oldest event that is not delivered yet; 0: none waits.' }),
})

/** A webhook. */
export const webhookSchema = z
  .object({
    id: z.string().meta({ format: 'uuid' }),
    url: z.string(),
    types: z.array(z.string()),
    deals: z.array(z.string()),
    description: z.string().nullable(),
    state: z.enum(['active', 'paused']),
    pausedReason: z
      .enum([
        ...(['by-user', 'failing', 'gone', 'responsible-disabled', 'responsible-lacks-right'] as const),
        ...(['responsible-logged-out', 'secret-unreadable'] as const),
      ])
      .nullable(),
    pausedAt: time.nullable(),
    position: z.string().meta({ description: 'The last event that was looked at.' }),
    responsible: z.string().meta({ description: 'The user under whose rights events are sent.' }),
    formerSecretUntil: time.nullable().meta({ description: 'Until then the former secret signs too.' }),
    createdBy: z.string(),
    createdAt: time,
    updatedAt: time,
    health,
    links: z.object({ self: z.string(), deliveries: z.string() }),
  })
  .meta({ description: 'A webhook. Its secret is shown once, when it is made.' })

/** A webhook with its secret. */
export const webhookWithSecretSchema = webhookSchema.extend({
  secret: z.string().meta({ description: '`whsec_…`: verifies signatures. Shown once.' }),
})

/** An attempt to deliver an event. */
export const attemptSchema = z.object({
  eventId: z.string().meta({ format: 'uuid', description: 'The header field `webhook-id`.' }),
  type: z.string(),
  deal: z.string().nullable().meta({ description: 'Null for a test, and for callers who do not read all deals.' }),
  attempt: z.number().int().min(1),
  at: time,
  durationMs: z.number().int(),
  outcome: z.enum(['delivered', 'failed']),
  status: z.number().int().nullable().meta({ description: 'Of the answer; null when none came.' }),
  reason: reason.nullable(),
})

const message = z
  .object({
    type: z.string(),
    timestamp: time.meta({ description: 'When the event happened.' }),
    data: eventSchema,
  })
  .meta({ description: 'The body of a delivery (Standard Webhooks).' })

/** The component schemas of webhooks. */
export const webhookSchemas = () =>
  componentSchemas({
    Webhook: webhookSchema,
    WebhookWithSecret: webhookWithSecretSchema,
    WebhookAttempt: attemptSchema,
    WebhookMessage: message,
  })

const field = (name: string, description: string): JsonSchema => ({
  name,
  in: 'header',
  required: true,
  description,
  schema: { type: 'string' },
})

/** The request that receivers of webhooks get. */
export const webhookRequest: JsonSchema = {
  post: {
    operationId: 'receiveDealEvent',
    summary: 'An event of a deal, sent to the URL of a webhook',
    description: `Signed as Standard Webhooks: verify it with the secret of the webhook, and drop an id that was taken
before. Any answer with 2xx takes the event. 410 ends the webhook. Any other answer is tried again later.`,
    tags: ['webhooks'],
    security: [],
    parameters: [
      field('webhook-id', 'The id of the event: the same at every attempt.'),
      field('webhook-timestamp', 'The time of the attempt, Unix seconds.'),
      field('webhook-signature', '`v1,` and an HMAC-SHA256 in base64; several of them with blanks between.'),
    ],
    requestBody: { required: true, content: { 'application/json': { schema: ref('WebhookMessage') } } },
    responses: {
      '204': { description: 'The event is taken.' },
      '410': { description: 'The receiver wants no more events: the webhook is paused.' },
    },
  },
}
