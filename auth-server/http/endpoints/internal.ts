/**
 * GET /internal/principals/{username} and GET /internal/feed: what deal servers ask, authenticated under SERVICE_SECRET (CONTRACT
 * section 9).
 */
import type { Clock } from '../../../shared/clock.ts'
import { Refused } from '../../../shared/errors.ts'
import { jsonAnswer, noStore } from '../../../shared/http/answer.ts'
import type { HttpCall } from '../../../shared/http/call.ts'
import type { Route } from '../../../shared/http/routes.ts'
import { internalSchemeName, isSignedInternally } from '../../../shared/internal-requests.ts'
import { type InstalledPrincipal, installationHeader } from '../../../shared/principals/installation.ts'
import { authorizationOf } from '../../../shared/schemes/scheme.ts'

export interface InternalPorts {
  /** The record as the database has it now. */
  principal(username: string): Promise<InstalledPrincipal>
  /** Which installation the database is: whose feed there is to follow. */
  installationId(): Promise<string>
  /** SERVICE_SECRET: all that are accepted. */
  readonly secrets: readonly string[]
  readonly clock: Clock
}

/** Both routes. */
export const internalRoutes = (ports: InternalPorts): Route[] => [principalRoute(ports), feedRoute(ports)]

const principalRoute = ({ principal, secrets, clock }: InternalPorts): Route => ({
  methods: ['GET'],
  path: '/internal/principals/:username',
  handle: async (call) => {
    await requireServiceSecret(call, { secrets, clock })
    const { installationId, record } = await principal(call.pathParameters.username ?? '')
    const headers = { [installationHeader]: installationId }
    if (!record) throw new Refused('not-found', 'There is no such user.', { headers })
    return jsonAnswer(200, record, { ...noStore, ...headers })
  },
})

const feedRoute = ({ installationId, secrets, clock }: InternalPorts): Route => ({
  methods: ['GET'],
  path: '/internal/feed',
  handle: async (call) => {
    await requireServiceSecret(call, { secrets, clock })
    return jsonAnswer(200, { installationId: await installationId() }, noStore)
  },
})

async function requireServiceSecret(
  call: HttpCall,
  accepted: { secrets: readonly string[]; clock: Clock },
): Promise<void> {
  const body = (await call.readBody()).toString('utf8')
  const target = call.rawQuery === '' ? call.path : `${call.path}?${call.rawQuery}`
  const credential = authorizationOf(call, internalSchemeName)
  if (credential !== undefined && isSignedInternally({ method: call.method, target, body }, credential, accepted))
    return
  throw new Refused('unauthenticated', 'This route is for the deal server.', {
    headers: { 'www-authenticate': ['Keyhold-Internal'] },
    members: { schemes: [] },
  })
}
