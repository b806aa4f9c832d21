/** The descriptions of webhook routes. */
import type { Operation } from '../../../shared/platform/http/operation.ts'
import { jsonSchemaOf, ref } from '../../../shared/platform/openapi/json-schema.ts'
import { describeList, describeRead } from '../openapi/read-operations.ts'
import { creation, patch, redelivery } from '../openapi/webhook-schemas.ts'

const tags = ['webhooks']
const pathParameters = { id: { type: 'string', format: 'uuid' } }
const webhook = { description: 'The webhook.', schema: ref('Webhook') }
const withSecret = {
  description: 'The webhook with its secret, which is not shown again.',
  schema: ref('WebhookWithSecret'),
}
const ofOne = ['invalid-parameter', 'missing-right', 'not-found']
const ofBody = [...ofOne, 'invalid-body', 'invalid-value', 'unsupported-media-type']
const proves = `It is lasting access: it needs the password or a login younger than five minutes, and no credential of
narrowed rights makes it. It is paused when its responsible user is logged out of everything.`
const proofProblems = ['narrowed-credential', 'recent-login-required']
const needs = 'Needs the rights `webhook.manage`, `deal.read` and `deal.history.read`, the last two in either width.'

/** POST of a webhook. */
export const createOperation: Operation = {
  id: 'createWebhook',
  tags,
  summary: 'Have events sent to a URL',
  description: `Events are sent as Standard Webhooks: signed, in the order of each deal, at least once. ${needs} Events are
sent as long as the caller has these rights. The secret is shown once. ${proves}`,
  body: { schema: jsonSchemaOf(creation), required: true },
  responses: { 201: { ...withSecret, headers: ['Location'] } },
  problems: [
    'invalid-body',
    'invalid-value',
    'missing-right',
    'outdated-cursor',
    'too-many-webhooks',
    'unsupported-media-type',
    ...proofProblems,
  ],
}

/** GET of all webhooks. */
export const listOperation = describeList({
  id: 'listWebhooks',
  tags,
  summary: 'List webhooks',
  description: 'Those of all users, the oldest first. Needs the right `webhook.manage`.',
  success: { description: 'Webhooks.', schema: ref('WebhookPage') },
})

/** GET of one. */
export const readOperation = describeRead({
  id: 'getWebhook',
  tags,
  summary: 'Read a webhook and how its deliveries go',
  pathParameters,
  description: 'With the last success and failure, what waits, and why it is paused. Needs `webhook.manage`.',
  success: webhook,
})

/** PATCH of one. */
export const changeOperation: Operation = {
  id: 'changeWebhook',
  tags,
  summary: 'Change, pause or resume a webhook',
  pathParameters,
  description: `Replaces the members that are sent. The caller becomes the responsible user. A webhook that is resumed
goes on where it was paused, and tries at once what waits. ${needs} ${proves}`,
  body: {
    schema: jsonSchemaOf(patch),
    required: true,
    mediaTypes: ['application/json', 'application/merge-patch+json'],
  },
  responses: { 200: webhook },
  problems: [...ofBody, ...proofProblems],
}

/** DELETE of one. */
export const removeOperation: Operation = {
  id: 'deleteWebhook',
  tags,
  summary: 'Delete a webhook',
  pathParameters,
  description: 'Nothing more is sent, from within a second on. Needs the right `webhook.manage`.',
  responses: { 204: { description: 'It is deleted.' } },
  problems: [...ofOne, 'invalid-body'],
}

/** POST of a new secret. */
export const rotateOperation: Operation = {
  id: 'rotateWebhookSecret',
  tags,
  summary: 'Replace the secret of a webhook',
  pathParameters,
  description: 'For 24 hours the former secret signs too, as a second signature. Needs the right `webhook.manage`.',
  responses: { 200: withSecret },
  problems: [...ofOne, 'invalid-body'],
}

/** POST of a redelivery. */
export const redeliverOperation: Operation = {
  id: 'redeliverEvents',
  tags,
  summary: 'Send events once more',
  pathParameters,
  description: `Goes back to a position: all events after it are sent again, with the same ids. A position that the
webhook has not reached yet changes nothing. ${needs}`,
  body: { schema: jsonSchemaOf(redelivery), required: true },
  responses: { 200: webhook },
  problems: [...ofBody, 'outdated-cursor'],
}

/** POST of a test. */
export const testOperation: Operation = {
  id: 'testWebhook',
  tags,
  summary: 'Send a test event',
  pathParameters,
  description: 'Sends an event of the type `webhook.test` once, also while paused, and answers with what became of it.',
  responses: { 200: { description: 'The attempt.', schema: ref('WebhookAttempt') } },
  problems: [...ofOne, 'invalid-body', 'invalid-value'],
}

/** GET of the last attempts. */
export const attemptsOperation = describeList({
  id: 'listWebhookDeliveries',
  tags,
  summary: 'List the last attempts of a webhook',
  pathParameters,
  description: 'The newest first: about 200 of them, for 30 days at most. Needs the right `webhook.manage`.',
  success: { description: 'Attempts.', schema: ref('WebhookAttemptPage') },
})
