/** The endpoints of webhooks (docs/contract/reading.md#webhooks). */
import type { Clock } from '../../../shared/platform/clock.ts'
import { readBodyAs } from '../../../shared/platform/http/content/json-body.ts'
import { noParameters, pageParameters } from '../../../shared/platform/http/content/query-parameters.ts'
import type { Lists } from '../../../shared/platform/http/pagination/lists.ts'
import { pageOf } from '../../../shared/platform/http/pagination/page-schema.ts'
import type { HttpRequest } from '../../../shared/platform/http/request.ts'
import { noStore } from '../../../shared/platform/http/response.ts'
import { ProblemError } from '../../../shared/platform/problems/errors.ts'
import { applicationOf } from '../../../shared/protocol/authentication/application.ts'
import type { Caller } from '../../../shared/protocol/authentication/authenticate.ts'
import { requireOwnAccount } from '../../../shared/protocol/authentication/own-account.ts'
import type { RecentProof } from '../../../shared/protocol/authentication/recent-proof.ts'
import type { ReportedChange } from '../../../shared/protocol/internal-api/webhook-changes.ts'
import { component, defineEndpoint, jsonBody } from '../../../shared/server/endpoints/endpoint.ts'
import { parseUuid } from '../../use-cases/parameters.ts'
import type { WithSecret } from '../../webhooks/manage.ts'
import type { WebhookView } from '../../webhooks/ports.ts'
import { lentRights, managingRight } from '../../webhooks/responsible.ts'
import {
  attemptSchema,
  creation,
  patch,
  redelivery,
  webhookSchema,
  webhookWithSecretSchema,
} from '../openapi/webhook-schemas.ts'
import { privateHeaders } from '../representations/responses.ts'
import type { DealServices } from '../services/deal-services.ts'
import { pathOfWebhook, representAttempt, representWebhook, webhookChanges, webhooksPath } from './represent.ts'

const needs = 'Needs the rights `webhook.manage`, `deal.read` and `deal.history.read`, the last two in either width.'
const proves = `It is lasting access: it needs the password or a login younger than five minutes, and no credential of
narrowed rights makes it. It is paused when its responsible user is logged out of everything.`
const proofProblems = ['narrowed-credential', 'recent-login-required']
const bodyProblems = ['invalid-body', 'invalid-value', 'unsupported-media-type']

const common = { tag: 'webhooks', right: managingRight, query: noParameters } as const

const ofOne = {
  ...common,
  pathParameters: { id: { type: 'string', format: 'uuid' } },
  check: ({ path }: { readonly path: { readonly id: string } }) => webhookId(path),
} as const

const ofOneWithoutMembers = {
  ...ofOne,
  check: async ({ request, path }: { readonly request: HttpRequest; readonly path: { readonly id: string } }) => {
    await readBodyAs(request, noParameters)
    return webhookId(path)
  },
} as const

const webhook = { success: { description: 'The webhook.' }, response: component('Webhook', webhookSchema) }
const withSecret = {
  description: 'The webhook with its secret, which is not shown again.',
  schema: component('WebhookWithSecret', webhookWithSecretSchema),
}

/** Creates all endpoints. The console takes the types of its calls from the inferred type. */
export const webhookEndpoints = (services: DealServices, lists: Lists) => [
  defineEndpoint({
    ...common,
    method: 'POST',
    path: webhooksPath,
    id: 'createWebhook',
    summary: 'Have events sent to a URL',
    description: `Events are sent as Standard Webhooks: signed, in the order of each deal, at least once. ${needs} Events are
sent as long as the caller has these rights. The secret is shown once. ${proves}`,
    body: jsonBody(creation),
    grants: () => lentRights,
    status: 201,
    success: { description: withSecret.description, headers: ['Location'] },
    response: withSecret.schema,
    problems: [...bodyProblems, 'outdated-cursor', 'too-many-webhooks', ...proofProblems],
    handle: async ({ request, caller, body: { after, password, code, ...settings } }) => {
      await requireProof(services, { request, caller }, { password, code })
      const made = await services.webhooks.create({ ...settings, after }, caller)
      note(services, { request, caller }, { action: 'webhook.created', id: made.webhook.id, after: made.webhook })
      return replyWithSecret(made, services)
    },
  }),
  defineEndpoint({
    ...common,
    tag: ['webhooks', 'reading'],
    method: 'GET',
    path: webhooksPath,
    id: 'listWebhooks',
    summary: 'List webhooks',
    description: 'Those of all users, the oldest first. Needs the right `webhook.manage`.',
    query: pageParameters,
    success: { description: 'Webhooks.', headers: ['Link'] },
    response: component('WebhookPage', pageOf(webhookSchema)),
    problems: ['invalid-parameter', 'not-found', 'invalid-cursor', 'outdated-cursor'],
    check: ({ request, query }) => lists.open(request, { list: 'webhooks' }, query),
    handle: async ({ checked: list }) => {
      const { body, headers } = list.reply(await services.webhooks.list(list.page), (one) =>
        representWebhook(one, services.clock),
      )
      return { body, headers: { ...privateHeaders, ...headers } }
    },
  }),
  defineEndpoint({
    ...ofOne,
    ...webhook,
    tag: ['webhooks', 'reading'],
    method: 'GET',
    path: `${webhooksPath}/:id`,
    id: 'getWebhook',
    summary: 'Read a webhook and how its deliveries go',
    description: 'With the last success and failure, what waits, and why it is paused. Needs `webhook.manage`.',
    problems: ['invalid-parameter', 'not-found'],
    handle: async ({ checked: id }) => reply(await services.webhooks.find(id), services.clock),
  }),
  defineEndpoint({
    ...ofOne,
    ...webhook,
    method: 'PATCH',
    path: `${webhooksPath}/:id`,
    id: 'changeWebhook',
    summary: 'Change, pause or resume a webhook',
    description: `Replaces the members that are sent. The caller becomes the responsible user. A webhook that is resumed
goes on where it was paused, and tries at once what waits. ${needs} ${proves}`,
    body: jsonBody(patch, { mediaTypes: ['application/json', 'application/merge-patch+json'] }),
    grants: () => lentRights,
    problems: ['invalid-parameter', 'not-found', ...bodyProblems, ...proofProblems],
    handle: async ({ request, caller, checked: id, body: { password, code, ...change } }) => {
      await requireProof(services, { request, caller }, { password, code })
      const before = await services.webhooks.find(id)
      const after = await services.webhooks.change(id, change, caller)
      note(services, { request, caller }, { action: 'webhook.changed', id, before, after })
      return reply(after, services.clock)
    },
  }),
  defineEndpoint({
    ...ofOne,
    method: 'DELETE',
    path: `${webhooksPath}/:id`,
    id: 'deleteWebhook',
    summary: 'Delete a webhook',
    description: 'Nothing more is sent, from within a second on. Needs the right `webhook.manage`.',
    success: { description: 'It is deleted.' },
    problems: ['invalid-parameter', 'not-found', 'invalid-body'],
    handle: async ({ request, caller, checked: id }) => {
      const before = await services.webhooks.find(id)
      await services.webhooks.remove(id)
      note(services, { request, caller }, { action: 'webhook.deleted', id, before })
    },
  }),
  defineEndpoint({
    ...ofOneWithoutMembers,
    method: 'POST',
    path: `${webhooksPath}/:id/rotate-secret`,
    id: 'rotateWebhookSecret',
    summary: 'Replace the secret of a webhook',
    description: 'For 24 hours the former secret signs too, as a second signature. Needs the right `webhook.manage`.',
    success: { description: withSecret.description },
    response: withSecret.schema,
    problems: ['invalid-parameter', 'not-found', 'invalid-body'],
    handle: async ({ request, caller, checked: id }) => {
      const rotated = await services.webhooks.rotateSecret(id)
      note(services, { request, caller }, { action: 'webhook.secret-rotated', id })
      return replyWithSecret(rotated, services)
    },
  }),
  defineEndpoint({
    ...ofOne,
    ...webhook,
    method: 'POST',
    path: `${webhooksPath}/:id/redeliver`,
    id: 'redeliverEvents',
    summary: 'Send events once more',
    description: `Goes back to a position: all events after it are sent again, with the same ids. A position that the
webhook has not reached yet changes nothing. ${needs}`,
    body: jsonBody(redelivery),
    grants: () => lentRights,
    problems: ['invalid-parameter', 'not-found', ...bodyProblems, 'outdated-cursor'],
    handle: async ({ request, caller, checked: id, body: { after } }) => {
      const redelivered = await services.webhooks.redeliver(id, after)
      note(services, { request, caller }, { action: 'webhook.redelivered', id })
      return reply(redelivered, services.clock)
    },
  }),
  defineEndpoint({
    ...ofOneWithoutMembers,
    method: 'POST',
    path: `${webhooksPath}/:id/test`,
    id: 'testWebhook',
    summary: 'Send a test event',
    description:
      'Sends an event of the type `webhook.test` once, also while paused, and answers with what happened to it.',
    success: { description: 'The attempt.' },
    response: component('WebhookAttempt', attemptSchema),
    problems: ['invalid-parameter', 'not-found', 'invalid-body', 'invalid-value'],
    handle: async ({ request, caller, checked: id }) => {
      const attempt = await services.webhooks.test(id)
      note(services, { request, caller }, { action: 'webhook.tested', id })
      return { body: representAttempt(attempt), headers: noStore }
    },
  }),
  defineEndpoint({
    ...ofOne,
    tag: ['webhooks', 'reading'],
    method: 'GET',
    path: `${webhooksPath}/:id/deliveries`,
    id: 'listWebhookDeliveries',
    summary: 'List the last attempts of a webhook',
    description: 'The newest first: about 200 of them, for 30 days at most. Needs the right `webhook.manage`.',
    query: pageParameters,
    success: { description: 'Attempts.', headers: ['Link'] },
    response: component('WebhookAttemptPage', pageOf(attemptSchema)),
    problems: ['invalid-parameter', 'not-found', 'invalid-cursor', 'outdated-cursor'],
    check: ({ request, path, query }) => {
      const id = webhookId(path)
      return { id, list: lists.open(request, { list: 'webhook deliveries', query: { id } }, query) }
    },
    handle: async ({ caller, checked: { id, list } }) => {
      const { body, headers } = list.reply(await services.webhooks.attempts(id, list.page, caller), representAttempt)
      return { body, headers: { ...privateHeaders, ...headers } }
    },
  }),
]

/** @throws ProblemError `not-found` */
function webhookId(path: { readonly id: string }): string {
  const id = parseUuid(path.id)
  if (id === undefined) throw new ProblemError('not-found', 'There is no such webhook: its id would be a UUID.')
  return id
}

const reply = (shown: WebhookView, clock: Clock) => ({ body: representWebhook(shown, clock), headers: privateHeaders })

const replyWithSecret = ({ webhook: shown, secret }: WithSecret, { clock }: DealServices) => ({
  body: { ...representWebhook(shown, clock), secret },
  headers: { ...noStore, location: pathOfWebhook(shown) },
})

interface Asked {
  readonly request: HttpRequest
  readonly caller: Caller
}

/** Requires what lasting access needs. @throws ProblemError `narrowed-credential`, and as `RequireRecentProof` */
async function requireProof(
  { requireRecentProof }: DealServices,
  { request, caller }: Asked,
  proof: Pick<RecentProof, 'password' | 'code'>,
): Promise<void> {
  requireOwnAccount(caller)
  await requireRecentProof(caller, { ...proof, clientAddress: request.peer.address })
}

interface Noted extends Pick<ReportedChange, 'action'> {
  readonly id: string
  /** The webhook before and after a change of its members. */
  readonly before?: WebhookView
  readonly after?: WebhookView
}

/** Notes what the caller did, for the audit log. */
const note = (
  { noteWebhookChange }: DealServices,
  { request: { peer, requestId }, caller: { username: actor, scheme, credential } }: Asked,
  { action, id: target, before, after }: Noted,
): void => {
  const changes = webhookChanges(before, after)
  const client = applicationOf(credential)?.name
  noteWebhookChange({ action, target, actor, client, scheme, requestId, address: peer.address, changes })
}
