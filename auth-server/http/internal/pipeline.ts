/**
 * The steps of every request below `/internal` (docs/contract/services.md). The pair asks everything, a service what is
 * open to services. The OpenAPI document does not contain these routes. Secrets in responses are encrypted, so plain
 * HTTP is enough for signed requests.
 */

import { readBodyAs } from '../../../shared/platform/http/content/json-body.ts'
import { type HttpRequest, maxOpenBodyBytes } from '../../../shared/platform/http/request.ts'
import { emptyResponse, type HttpResponse, jsonResponse, noStore } from '../../../shared/platform/http/response.ts'
import type { Route } from '../../../shared/platform/http/server/routes.ts'
import { ProblemError } from '../../../shared/platform/problems/errors.ts'
import type { Exchange } from '../../../shared/protocol/internal-api/exchange.ts'
import {
  instanceHeader,
  internalMacHeader,
  keySetHeader,
  macOfInternalResponse,
} from '../../../shared/protocol/internal-api/responses.ts'
import type { InternalEndpoint } from './endpoint.ts'
import { type InternalClient, requireClient } from './internal-client.ts'
import type { InternalServices } from './internal-services.ts'

/** Makes the routes of these endpoints. */
export function internalRoutes(services: InternalServices, endpoints: readonly InternalEndpoint[]): Route[] {
  const clients = new WeakMap<HttpRequest, InternalClient>()
  const answer = async (request: HttpRequest, client: InternalClient, { exchange, handle }: InternalEndpoint) => {
    request.addResponseHeader(keySetHeader, services.publishedKeys())
    requireOpen(exchange, client) // who asks: 403
    const { requestBody, responseBody } = exchange
    const body = requestBody && (await readBodyAs(request, requestBody)) // parse and schema: 400, 413, 415, 422
    const { pathParameters: path, query } = request
    // Read before the work: when another server takes over during it, the answer bears the former id.
    const instance = { [instanceHeader]: await services.instanceId() }
    const reply = await handle({ request, path, query, body, client }) // existence: 404; credential: 401, 429
    const headers = { ...noStore, ...instance, ...reply.headers }
    if (reply.stream) return { status: 200, headers, body: reply.stream }
    return responseBody ? jsonResponse(200, reply.body, headers) : emptyResponse(204, headers)
  }
  return endpoints.map((endpoint) => ({
    methods: [endpoint.exchange.method],
    path: `/internal${endpoint.exchange.path}`,
    readsBodyLate: true,
    ...(endpoint.exchange.requestBody === undefined && { maxBodyBytes: maxOpenBodyBytes }),
    handle: async (request) => {
      request.refuseLargeBody() // limits: 413
      const client = await requireClient(request, services) // transport: 403; proof, time and nonce: 400, 401
      clients.set(request, client)
      return answer(request, client, endpoint)
    },
    // The MAC covers the response as it goes out, also a refusal, when the request proved a secret.
    finish: (request, response) => {
      const signed = clients.get(request)?.signed
      if (signed)
        request.addResponseHeader(internalMacHeader, macOfInternalResponse(factsOf(request, response), signed))
    },
  }))
}

/** @throws ProblemError `exchange-not-open` */
function requireOpen({ openTo }: Exchange, { proven }: InternalClient): void {
  if (proven ? openTo !== undefined : openTo !== 'services') return
  throw new ProblemError(
    'exchange-not-open',
    proven
      ? 'This exchange is for the deal server alone.'
      : 'This exchange is for services, with a credential of theirs.',
  )
}

/** The parts of the response that the MAC covers. */
const factsOf = (request: HttpRequest, { status, headers, body }: HttpResponse) => ({
  status,
  body: typeof body === 'string' ? body : '',
  header: (name: string): string | null => {
    const added = request.addedResponseHeaders.find(([one]) => one === name)?.[1]
    const value = added ?? headers[name]
    return typeof value === 'string' ? value : null
  },
})
