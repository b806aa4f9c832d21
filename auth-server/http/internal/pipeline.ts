/**
 * The one way through `/internal`, which deal servers ask under SERVICE_SECRET (CONTRACT section 9): no caller of
 * another kind gets an answer, and none of it is part of the public documentation. Secrets in answers are sealed, so
 * plain HTTP will do.
 */

import type { Clock } from '../../../shared/platform/clock.ts'
import { readBodyAs } from '../../../shared/platform/http/content/json-body.ts'
import type { HttpCall } from '../../../shared/platform/http/request.ts'
import { type Answer, emptyAnswer, jsonAnswer, noStore } from '../../../shared/platform/http/response.ts'
import type { Route } from '../../../shared/platform/http/server/routes.ts'
import { Refused } from '../../../shared/platform/problems/errors.ts'
import { authorizationOf } from '../../../shared/protocol/authentication/scheme.ts'
import {
  askerOfInternalRequest,
  type InternalAsker,
  internalSchemeName,
} from '../../../shared/protocol/internal-api/requests.ts'
import {
  internalMacHeader,
  keySetHeader,
  macOfInternalAnswer,
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
  const askers = new WeakMap<HttpCall, InternalAsker>()
  return endpoints.map(({ exchange, handle }) => ({
    methods: [exchange.method],
    path: `/internal${exchange.path}`,
    handle: async (call) => {
      const asker = await requireAsker(call, ports) // limits: 413; MAC, time and nonce: 401
      askers.set(call, asker)
      call.caller = dealServer
      call.addAnswerHeader(keySetHeader, ports.publishedKeys())
      const { question, answer } = exchange
      const body = question && (await readBodyAs(call, question)) // parse and schema: 400, 415, 422
      const request = { path: call.pathParameters, query: call.query, body, secret: asker.secret }
      const reply = await handle(request) // existence: 404; what the exchange is about: 401, 429
      const headers = { ...noStore, ...reply.headers }
      return answer ? jsonAnswer(200, reply.body, headers) : emptyAnswer(204, headers)
    },
    // The MAC is over the answer as it goes out, refusals of a known asker included.
    finish: (call, answer) => {
      const asker = askers.get(call)
      if (asker) call.addAnswerHeader(internalMacHeader, macOfInternalAnswer(factsOf(call, answer), asker))
    },
  }))
}

/** As request lines in the log name it. */
const dealServer = { scheme: 'service' } as const

/** What the answer will have on its way. */
const factsOf = (call: HttpCall, { status, headers, body }: Answer) => ({
  status,
  body: typeof body === 'string' ? body : '',
  header: (name: string): string | null => {
    const added = call.addedAnswerHeaders.find(([one]) => one === name)?.[1]
    const value = added ?? headers[name]
    return typeof value === 'string' ? value : null
  },
})

/** Who holds a service secret and has not sent this very request before. @throws Refused `unauthenticated` */
async function requireAsker(call: HttpCall, ports: InternalPorts): Promise<InternalAsker> {
  const body = (await call.readBody()).toString('utf8')
  const target = call.rawQuery === '' ? call.path : `${call.path}?${call.rawQuery}`
  const credential = authorizationOf(call, internalSchemeName) ?? ''
  const asker = askerOfInternalRequest({ method: call.method, target, body }, credential, ports)
  if (asker && (await ports.useNonce(asker))) return asker
  throw new Refused('unauthenticated', 'This route is for the deal server.', {
    headers: { 'www-authenticate': ['Keyhold-Internal'] },
    members: { schemes: [] },
  })
}
