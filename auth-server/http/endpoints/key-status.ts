/** GET /keys: the state of the key ring, for operators (CONTRACT sections 2 and 9). */
import { jsonAnswer, noStore } from '../../../shared/platform/http/answer.ts'
import { noParameters, readQuery } from '../../../shared/platform/http/content/query-parameters.ts'
import type { Route } from '../../../shared/platform/http/server/routes.ts'
import { requireSecureTransport } from '../../../shared/platform/http/transport.ts'
import { type Authenticate, requireRights } from '../../../shared/protocol/authentication/authenticate.ts'
import type { KeyRing } from '../../key-ring/key-ring.ts'
import { describeKeyStatus } from '../openapi/key-operations.ts'

export interface KeyStatusPorts {
  readonly authenticate: Authenticate
  readonly keyRing: Pick<KeyRing, 'status'>
}

/** The whole ring in one page: it never grows large. */
export const keyStatusRoute = ({ authenticate, keyRing }: KeyStatusPorts): Route => ({
  methods: ['GET'],
  path: '/keys',
  describe: () => [describeKeyStatus()],
  handle: async (call) => {
    await call.readBody()
    requireSecureTransport(call.peer)
    const caller = await authenticate(call)
    readQuery(call, noParameters)
    requireRights(caller, ['key.read'])
    return jsonAnswer(200, { items: keyRing.status(), nextCursor: null }, noStore)
  },
})
