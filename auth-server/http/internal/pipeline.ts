/**
 * The one way through `/internal`, which deal servers ask under SERVICE_SECRET (docs/contract.md#internal-routes): no caller of
 * another kind gets an answer, and none of it is part of the public documentation. Secrets in answers are sealed, so
 * plain HTTP will do.
 */

import type { Clock } from '../../../shared/platform/clock.ts'
import { readBodyAs } from '../../../shared/platform/http/content/json-body.ts'
import type { HttpRequest } from '../../../shared/platform/http/request.ts'
import { emptyResponse, type HttpResponse, jsonResponse, noStore } from '../../../shared/platform/http/response.ts'
import type { Route } from '../../../shared/platform/http/server/routes.ts'
import { ProblemError } from '../../../shared/platform/problems/errors.ts'
import { authorizationOf } from '../../../shared/protocol/authentication/scheme.ts'
import {
  askerOfInternalRequest,
  type InternalAsker,
  internalSchemeName,
} from '../../../shared/protocol/internal-api/requests.ts'
import {
  internalMacHeader,
  keySetHeader,
  macOfInternalResponse,
} from '../../../shared/protocol/internal-api/responses.ts'
import type { InternalEndpoint } from './endpoint.ts'
import type { UseInternalNonce } from './nonces.ts'

/** What every route rests on. */
export interface InternalPorts {
  /** SERVICE_SECRET: all that are accepted. */
  readonly secrets: readonly string[]
  readonly clock: Clock
  readonly useNonce: UseInternalNonce
  /** Which keys are published now: every answer says it. */
  publishedKeys(): string
}

/** The routes of these endpoints. */
export function internalRoutes(ports: InternalPorts, endpoints: readonly InternalEndpoint[]): Route[] {
  const askers = new WeakMap<HttpRequest, InternalAsker>()
  return endpoints.map(({ exchange, handle }) => ({
    methods: [exchange.method],
    path: `/internal${exchange.path}`,
    handle: async (request) => {
      const asker = await requireAsker(request, ports) // limits: 413; MAC, time and nonce: 401
      askers.set(request, asker)
      request.caller = dealServer
      request.addResponseHeader(keySetHeader, ports.publishedKeys())
      const { requestBody, responseBody } = exchange
      const body = requestBody && (await readBodyAs(request, requestBody)) // parse and schema: 400, 415, 422
      const input = { path: request.pathParameters, query: request.query, body, secret: asker.secret }
      const reply = await handle(input) // existence: 404; what the exchange is about: 401, 429
      const headers = { ...noStore, ...reply.headers }
      return responseBody ? jsonResponse(200, reply.body, headers) : emptyResponse(204, headers)
    },
    // The MAC is over the answer as it goes out, refusals of a known asker included.
    finish: (request, response) => {
      const asker = askers.get(request)
      if (asker) request.addResponseHeader(internalMacHeader, macOfInternalResponse(factsOf(request, response), asker))
    },
  }))
}

/** As input lines in the log name it. */
const dealServer = { scheme: 'service' } as const

/** What the answer will have on its way. */
const factsOf = (request: HttpRequest, { status, headers, body }: HttpResponse) => ({
  status,
  body: typeof body === 'string' ? body : '',
  header: (name: string): string | null => {
    const added = request.addedResponseHeaders.find(([one]) => one === name)?.[1]
    const value = added ?? headers[name]
    return typeof value === 'string' ? value : null
  },
})

/** Who holds a service secret and has not sent this very input before. @throws ProblemError `unauthenticated` */
async function requireAsker(request: HttpRequest, ports: InternalPorts): Promise<InternalAsker> {
  const body = (await request.readBody()).toString('utf8')
  const target = request.rawQuery === '' ? request.path : `${request.path}?${request.rawQuery}`
  const credential = authorizationOf(request, internalSchemeName) ?? ''
  const asker = askerOfInternalRequest({ method: request.method, target, body }, credential, ports)
  if (asker && (await ports.useNonce(asker))) return asker
  throw new ProblemError('unauthenticated', 'This route is for the deal server.', {
    headers: { 'www-authenticate': ['Keyhold-Internal'] },
    members: { schemes: [] },
  })
}
