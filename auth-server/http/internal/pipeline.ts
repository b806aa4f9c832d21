/**
 * The steps of every request below `/internal` (docs/contract/http.md#internal-routes). Only deal servers that know
 * SERVICE_SECRET get a result. The public documentation does not contain these routes. Secrets in responses are
 * encrypted, so plain HTTP is enough.
 */

import type { Clock } from '../../../shared/platform/clock.ts'
import { readBodyAs } from '../../../shared/platform/http/content/json-body.ts'
import type { HttpRequest } from '../../../shared/platform/http/request.ts'
import { emptyResponse, type HttpResponse, jsonResponse, noStore } from '../../../shared/platform/http/response.ts'
import type { Route } from '../../../shared/platform/http/server/routes.ts'
import { ProblemError } from '../../../shared/platform/problems/errors.ts'
import { authorizationOf } from '../../../shared/protocol/authentication/scheme.ts'
import {
  callerOfInternalRequest,
  type InternalCaller,
  internalSchemeName,
} from '../../../shared/protocol/internal-api/requests.ts'
import {
  instanceHeader,
  internalMacHeader,
  keySetHeader,
  macOfInternalResponse,
} from '../../../shared/protocol/internal-api/responses.ts'
import type { InternalEndpoint } from './endpoint.ts'
import type { UseInternalNonce } from './nonces.ts'

/** Other parts that all these routes use. */
export interface InternalPorts {
  /** All accepted values of SERVICE_SECRET. */
  readonly secrets: readonly string[]
  readonly clock: Clock
  readonly useNonce: UseInternalNonce
  /** The published keys of the moment. Every response carries them in a header field. */
  publishedKeys(): string
  /** The instance id of the database. Every success carries it in a header field. @throws Unavailable */
  instanceId(): Promise<string>
}

/** Makes the routes of these endpoints. */
export function internalRoutes(ports: InternalPorts, endpoints: readonly InternalEndpoint[]): Route[] {
  const callers = new WeakMap<HttpRequest, InternalCaller>()
  return endpoints.map(({ exchange, handle }) => ({
    methods: [exchange.method],
    path: `/internal${exchange.path}`,
    handle: async (request) => {
      const caller = await requireCaller(request, ports) // limits: 413; MAC, time and nonce: 401
      callers.set(request, caller)
      request.caller = dealServer
      request.addResponseHeader(keySetHeader, ports.publishedKeys())
      const { requestBody, responseBody } = exchange
      const body = requestBody && (await readBodyAs(request, requestBody)) // parse and schema: 400, 415, 422
      const input = { path: request.pathParameters, query: request.query, body, secret: caller.secret, caller }
      // Read before the work: when another server takes over meanwhile, the answer bears the former id.
      const instance = { [instanceHeader]: await ports.instanceId() }
      const reply = await handle(input) // existence: 404; the checked credential: 401, 429
      const headers = { ...noStore, ...instance, ...reply.headers }
      if (reply.stream) return { status: 200, headers, body: reply.stream }
      return responseBody ? jsonResponse(200, reply.body, headers) : emptyResponse(204, headers)
    },
    // The MAC covers the response as it goes out, also a refusal, when the request proved a service secret.
    finish: (request, response) => {
      const caller = callers.get(request)
      if (caller)
        request.addResponseHeader(internalMacHeader, macOfInternalResponse(factsOf(request, response), caller))
    },
  }))
}

/** The caller in log lines of these requests. */
const dealServer = { scheme: 'service' } as const

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

/** Requires a service secret and a request that was not sent before. @throws ProblemError `unauthenticated` */
async function requireCaller(request: HttpRequest, ports: InternalPorts): Promise<InternalCaller> {
  const body = (await request.readBody()).toString('utf8')
  const target = request.rawQuery === '' ? request.path : `${request.path}?${request.rawQuery}`
  const credential = authorizationOf(request, internalSchemeName) ?? ''
  const caller = callerOfInternalRequest({ method: request.method, target, body }, credential, ports)
  if (caller && (await ports.useNonce(caller))) return caller
  throw new ProblemError('unauthenticated', 'This route is for the deal server.', {
    headers: { 'www-authenticate': ['Keyhold-Internal'] },
    members: { schemes: [] },
  })
}
