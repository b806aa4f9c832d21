/** The routes of webhooks (docs/contract/reading.md#webhooks). */

import type { Clock } from '../../../shared/platform/clock.ts'
import { readBodyAs, refuseBody } from '../../../shared/platform/http/content/json-body.ts'
import { noParameters, pageParameters, readQuery } from '../../../shared/platform/http/content/query-parameters.ts'
import type { Operation } from '../../../shared/platform/http/operation.ts'
import type { Lists } from '../../../shared/platform/http/pagination/lists.ts'
import type { HttpRequest } from '../../../shared/platform/http/request.ts'
import { emptyResponse, type HttpResponse, jsonResponse, noStore } from '../../../shared/platform/http/response.ts'
import type { Method } from '../../../shared/platform/http/server/routes.ts'
import { ProblemError } from '../../../shared/platform/problems/errors.ts'
import type { Caller } from '../../../shared/protocol/authentication/authenticate.ts'
import type { ReportedChange } from '../../../shared/protocol/internal-api/webhook-changes.ts'
import { parseUuid } from '../../use-cases/parameters.ts'
import type { WebhookManagement, WithSecret } from '../../webhooks/manage.ts'
import type { WebhookView } from '../../webhooks/ports.ts'
import { webhookRights } from '../../webhooks/responsible.ts'
import { creation, patch, redelivery } from '../openapi/webhook-schemas.ts'
import { privateHeaders } from '../representations/responses.ts'
import type { StyleRoute, WebhookInvocation } from '../requests/invocation.ts'
import * as operations from './describe.ts'
import { pathOfWebhook, representAttempt, representWebhook, webhooksPath } from './represent.ts'

/** The parts that the routes use. */
export interface WebhookRouteOptions {
  readonly lists: Lists
  readonly clock: Clock
}

type Answer = (webhooks: WebhookManagement, caller: Caller) => Promise<HttpResponse>
type Decoded = Pick<WebhookInvocation, 'proof' | 'answer'>

interface Defined {
  readonly method: Method
  /** Below the collection. */
  readonly path: string
  readonly operation: Operation
  /** The action of the entry in the audit log; reads have none. */
  readonly action?: ReportedChange['action']
  /** `webhook.manage` when left out. */
  readonly rights?: readonly string[]
  /** Parses a request. @throws ProblemError */
  decode(request: HttpRequest): Promise<Answer | Decoded> | Answer
}

const managing = ['webhook.manage'] as const
const style = 'webhooks'

/** All routes of webhooks. */
export function webhookRoutes({ lists, clock }: WebhookRouteOptions): readonly StyleRoute[] {
  const show = (webhook: WebhookView) => representWebhook(webhook, clock)
  const shown = (webhook: WebhookView) => jsonResponse(200, show(webhook), privateHeaders)
  const withSecret = (status: number, { webhook, secret }: WithSecret) =>
    jsonResponse(status, { ...show(webhook), secret }, { ...noStore, location: pathOfWebhook(webhook) })
  return [
    ...collectionRoutes({ lists, show, withSecret }),
    ...memberRoutes({ shown, withSecret }),
    ...deliveryRoutes({ lists, shown }),
  ].map(routeOf)
}

interface Shown {
  readonly lists: Lists
  readonly show: (webhook: WebhookView) => object
  readonly shown: (webhook: WebhookView) => HttpResponse
  readonly withSecret: (status: number, made: WithSecret) => HttpResponse
}

const collectionRoutes = ({ lists, show, withSecret }: Pick<Shown, 'lists' | 'show' | 'withSecret'>): Defined[] => [
  {
    method: 'POST',
    path: '',
    operation: operations.createOperation,
    action: 'webhook.created',
    rights: webhookRights,
    decode: async (request) => {
      readQuery(request, noParameters)
      const { after, password, code, ...settings } = await readBodyAs(request, creation)
      return {
        proof: { password, code },
        answer: async (webhooks, caller) => withSecret(201, await webhooks.create({ ...settings, after }, caller)),
      }
    },
  },
  {
    method: 'GET',
    path: '',
    operation: operations.listOperation,
    decode: (request) => {
      const list = lists.open(request, { list: 'webhooks' }, readQuery(request, pageParameters))
      return async (webhooks) =>
        list.answer(await webhooks.list(list.page), { represent: show, headers: privateHeaders })
    },
  },
]

const memberRoutes = ({ shown, withSecret }: Pick<Shown, 'shown' | 'withSecret'>): Defined[] => [
  {
    method: 'GET',
    path: '/:id',
    operation: operations.readOperation,
    decode: (request) => {
      const id = idIn(request)
      return async (webhooks) => shown(await webhooks.find(id))
    },
  },
  {
    method: 'PATCH',
    path: '/:id',
    operation: operations.changeOperation,
    action: 'webhook.changed',
    rights: webhookRights,
    decode: async (request) => {
      const [id, { password, code, ...change }] = [idIn(request), await readBodyAs(request, patch)]
      return {
        proof: { password, code },
        answer: async (webhooks, caller) => shown(await webhooks.change(id, change, caller)),
      }
    },
  },
  {
    method: 'DELETE',
    path: '/:id',
    operation: operations.removeOperation,
    action: 'webhook.deleted',
    decode: async (request) => {
      const id = await idWithoutBody(request)
      return async (webhooks) => {
        await webhooks.remove(id)
        return emptyResponse(204)
      }
    },
  },
  {
    method: 'POST',
    path: '/:id/rotate-secret',
    operation: operations.rotateOperation,
    action: 'webhook.secret-rotated',
    decode: async (request) => {
      const id = await idWithEmptyBody(request)
      return async (webhooks) => withSecret(200, await webhooks.rotateSecret(id))
    },
  },
]

const deliveryRoutes = ({ lists, shown }: Pick<Shown, 'lists' | 'shown'>): Defined[] => [
  {
    method: 'POST',
    path: '/:id/redeliver',
    operation: operations.redeliverOperation,
    action: 'webhook.redelivered',
    rights: webhookRights,
    decode: async (request) => {
      const [id, { after }] = [idIn(request), await readBodyAs(request, redelivery)]
      return async (webhooks) => shown(await webhooks.redeliver(id, after))
    },
  },
  {
    method: 'POST',
    path: '/:id/test',
    operation: operations.testOperation,
    action: 'webhook.tested',
    decode: async (request) => {
      const id = await idWithEmptyBody(request)
      return async (webhooks) => jsonResponse(200, representAttempt(await webhooks.test(id)), noStore)
    },
  },
  {
    method: 'GET',
    path: '/:id/deliveries',
    operation: operations.attemptsOperation,
    decode: (request) => {
      const id = idInPath(request)
      const scope = { list: 'webhook deliveries', query: { id } }
      const list = lists.open(request, scope, readQuery(request, pageParameters))
      return async (webhooks, caller) => {
        const page = await webhooks.attempts(id, list.page, caller)
        return list.answer(page, { represent: representAttempt, headers: privateHeaders })
      }
    },
  },
]

const routeOf = ({ method, path, operation, rights = managing, action, decode }: Defined): StyleRoute => ({
  style,
  methods: [method],
  path: `${webhooksPath}${path}`,
  describe: () => [operation],
  decode: async (request): Promise<WebhookInvocation> => {
    const decoded = await decode(request)
    const { proof, answer } = typeof decoded === 'function' ? { proof: undefined, answer: decoded } : decoded
    return { kind: 'webhook', rights, action, proof, answer }
  },
})

/** @throws ProblemError `not-found` */
function idInPath(request: HttpRequest): string {
  const id = parseUuid(request.pathParameters.id ?? '')
  if (id === undefined) throw new ProblemError('not-found', 'There is no such webhook: its id would be a UUID.')
  return id
}

/** The id, of a route without query parameters. @throws ProblemError */
function idIn(request: HttpRequest): string {
  readQuery(request, noParameters)
  return idInPath(request)
}

async function idWithoutBody(request: HttpRequest): Promise<string> {
  await refuseBody(request)
  return idIn(request)
}

/** The id, of a route that takes no member. @throws ProblemError */
async function idWithEmptyBody(request: HttpRequest): Promise<string> {
  await readBodyAs(request, noParameters)
  return idIn(request)
}
