/** PUT /users/{username}/digest-secret: a user's secret for HTTP Digest, shown once (CONTRACT section 2). */
import { jsonAnswer, noStore } from '../../../shared/platform/http/answer.ts'
import { readBodyAs } from '../../../shared/platform/http/content/json-body.ts'
import type { Route } from '../../../shared/platform/http/server/routes.ts'
import { requireSecureTransport } from '../../../shared/platform/http/transport.ts'
import type { Authenticate } from '../../../shared/protocol/authentication/authenticate.ts'
import { realm } from '../../../shared/protocol/authentication/scheme.ts'
import type { Audit } from '../../audit/audit.ts'
import type { RequireRecentProof } from '../../logins/recent-proof.ts'
import type { DigestSecrets } from '../../users/digest-secrets.ts'
import { requireAccount } from '../../users/own-account.ts'
import { audited } from '../audited.ts'
import { describeUsersRoute } from '../openapi/user-operations.ts'
import { digestSecretSchema } from './user-bodies.ts'

export interface DigestSecretEndpointPorts {
  readonly authenticate: Authenticate
  readonly digestSecrets: Pick<DigestSecrets, 'renewFor'>
  readonly requireRecentProof: RequireRecentProof
  readonly audit: Audit
}

const path = '/users/:username/digest-secret'

export const digestSecretRoute = ({ authenticate, audit, ...ports }: DigestSecretEndpointPorts): Route => ({
  methods: ['PUT'],
  path,
  describe: () => [describeUsersRoute('PUT', path)],
  handle: async (call) => {
    await call.readBody()
    requireSecureTransport(call.peer)
    const caller = await authenticate(call)
    const { password } = await readBodyAs(call, digestSecretSchema)
    const target = call.pathParameters.username ?? ''
    const about = { call, caller, action: 'user.digest-secret-made', target }
    const { username, secret } = await audited(audit, about, async () => {
      requireAccount(caller, target, 'user.manage')
      await ports.requireRecentProof(caller, { password, clientAddress: call.peer.address })
      return ports.digestSecrets.renewFor(target, caller)
    })
    return jsonAnswer(200, { username, realm, secret }, noStore)
  },
})
