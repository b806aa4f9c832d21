/** PUT /users/{username}/digest-secret: a user's secret for HTTP Digest, shown once (CONTRACT section 2). */
import { jsonAnswer, noStore } from '../../../shared/http/answer.ts'
import { readBodyAs } from '../../../shared/http/json-body.ts'
import type { Route } from '../../../shared/http/routes.ts'
import { requireSecureTransport } from '../../../shared/http/transport.ts'
import { foldUsername } from '../../../shared/principals/record.ts'
import { type Authenticate, type Caller, requireRights } from '../../../shared/schemes/authenticate.ts'
import { realm } from '../../../shared/schemes/scheme.ts'
import type { Audit } from '../../audit/audit.ts'
import type { DigestSecrets } from '../../users/digest-secrets.ts'
import { audited } from '../audited.ts'
import { describeUsersRoute } from '../openapi/user-operations.ts'
import { digestSecretSchema } from './user-bodies.ts'

export interface DigestSecretEndpointPorts {
  readonly authenticate: Authenticate
  readonly digestSecrets: Pick<DigestSecrets, 'renew'>
  readonly audit: Audit
}

const path = '/users/:username/digest-secret'

export const digestSecretRoute = ({ authenticate, digestSecrets, audit }: DigestSecretEndpointPorts): Route => ({
  methods: ['PUT'],
  path,
  describe: () => [describeUsersRoute('PUT', path)],
  handle: async (call) => {
    await call.readBody()
    requireSecureTransport(call.peer)
    const caller = await authenticate(call)
    await readBodyAs(call, digestSecretSchema)
    const target = call.pathParameters.username ?? ''
    const about = { call, caller, action: 'user.digest-secret-made', target }
    const { username, secret } = await audited(audit, about, async () => {
      if (!actsForItself(caller, target)) requireRights(caller, ['user.manage'])
      return digestSecrets.renew(target)
    })
    return jsonAnswer(200, { username, realm, secret }, noStore)
  },
})

/** A credential with fewer rights than its user must not make one that has them all. */
const actsForItself = ({ username, credential }: Caller, target: string): boolean =>
  foldUsername(target) === foldUsername(username) && credential.rights === undefined
