/** GET /me: who the caller is, by whichever scheme. */
import { rfc3339 } from '../../../shared/platform/clock.ts'
import { jsonAnswer, noStore } from '../../../shared/platform/http/answer.ts'
import type { Route } from '../../../shared/platform/http/server/routes.ts'
import { requireSecureTransport } from '../../../shared/platform/http/transport.ts'
import type { Authenticate } from '../../../shared/protocol/authentication/authenticate.ts'
import { describeMe } from '../openapi/login-operations.ts'

export interface MePorts {
  readonly authenticate: Authenticate
  /** The user's roles. */
  rolesOf(username: string): Promise<readonly string[]>
}

export const meRoute = ({ authenticate, rolesOf }: MePorts): Route => ({
  methods: ['GET'],
  path: '/me',
  describe: () => [describeMe()],
  handle: async (call) => {
    await call.readBody()
    requireSecureTransport(call.peer)
    const { username, rights, scheme, credential } = await authenticate(call)
    const { expiresAt } = credential
    const roles = await rolesOf(username)
    const me = {
      username,
      roles,
      rights: [...rights],
      scheme,
      expiresAt: expiresAt === undefined ? null : rfc3339(expiresAt),
    }
    return jsonAnswer(200, me, noStore)
  },
})
