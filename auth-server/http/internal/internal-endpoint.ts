/**
 * `/internal`: what deal servers ask, authenticated under SERVICE_SECRET (CONTRACT section 9). Each endpoint is one entry of the list;
 * none is reached by anybody else, and none is part of the public documentation.
 */
import type { Clock } from '../../../shared/platform/clock.ts'
import { type Answer, jsonAnswer, noStore } from '../../../shared/platform/http/answer.ts'
import type { HttpCall } from '../../../shared/platform/http/call.ts'
import type { Method, Route } from '../../../shared/platform/http/server/routes.ts'
import { Refused } from '../../../shared/platform/problems/errors.ts'
import { authorizationOf } from '../../../shared/protocol/authentication/scheme.ts'
import { internalMacHeader, macOfInternalAnswer } from '../../../shared/protocol/internal-api/internal-answers.ts'
import {
  askerOfInternalRequest,
  type InternalAsker,
  internalSchemeName,
} from '../../../shared/protocol/internal-api/internal-requests.ts'
import { keySetHeader } from '../../../shared/protocol/internal-api/published-keys.ts'
import { type InstalledPrincipal, installationHeader } from '../../../shared/protocol/principal/instance-id.ts'
import type { UseInternalNonce } from './nonces.ts'

/** SERVICE_SECRET: all that are accepted. */
export interface ServiceSecrets {
  readonly secrets: readonly string[]
  readonly clock: Clock
}

/** What every route rests on. */
export interface InternalPorts extends ServiceSecrets {
  readonly useNonce: UseInternalNonce
  /** Which keys are published now: every answer says it. */
  publishedKeys(): string
}

/** One thing that deal servers ask. */
export interface InternalEndpoint {
  readonly method: Method
  /** Hono's path syntax, below `/internal`. */
  readonly path: string
  /** `secret` is the service secret that the asker holds: what must stay secret in the answer is sealed under it. */
  handle(call: HttpCall, secret: string): Promise<Answer>
}

/** The routes of these endpoints. */
export function internalRoutes(ports: InternalPorts, endpoints: readonly InternalEndpoint[]): Route[] {
  const askers = new WeakMap<HttpCall, InternalAsker>()
  return endpoints.map(({ method, path, handle }) => ({
    methods: [method],
    path: `/internal${path}`,
    handle: async (call) => {
      const asker = await requireAsker(call, ports)
      askers.set(call, asker)
      call.caller = dealServer
      call.addAnswerHeader(keySetHeader, ports.publishedKeys())
      return handle(call, asker.secret)
    },
    finish: (call, answer) => {
      const asker = askers.get(call)
      if (asker) call.addAnswerHeader(internalMacHeader, macOfInternalAnswer(factsOf(call, answer), asker))
    },
  }))
}

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

/** As request lines in the log name it. */
const dealServer = { scheme: 'service' } as const

/** What the feed and its readers rest on. */
export interface PrincipalEndpointPorts {
  /** The record as the database has it now. */
  principal(username: string): Promise<InstalledPrincipal>
  /** Which installation the database is: whose feed there is to follow. */
  installationId(): Promise<string>
}

/** GET /internal/principals/{username} and GET /internal/feed. */
export const principalEndpoints = ({ principal, installationId }: PrincipalEndpointPorts): InternalEndpoint[] => [
  {
    method: 'GET',
    path: '/principals/:username',
    handle: async (call) => {
      const { installationId, record } = await principal(call.pathParameters.username ?? '')
      const headers = { [installationHeader]: installationId }
      if (!record) throw new Refused('not-found', 'There is no such user.', { headers })
      return jsonAnswer(200, record, { ...noStore, ...headers })
    },
  },
  {
    method: 'GET',
    path: '/feed',
    handle: async () => jsonAnswer(200, { installationId: await installationId() }, noStore),
  },
]

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
