import { openInternally } from '../../../shared/platform/crypto/internal-sealing.ts'
import { jsonAnswer, noStore } from '../../../shared/platform/http/answer.ts'
import { readBodyAs } from '../../../shared/platform/http/content/json-body.ts'
import { Refused } from '../../../shared/platform/problems/errors.ts'
import type { BasicPorts } from '../../../shared/protocol/authentication/basic/basic.ts'
import {
  passwordPurpose,
  presentedPasswordSchema,
  sealedPasswordSchema,
} from '../../../shared/protocol/internal-api/passwords.ts'
import type { InternalEndpoint } from './internal-endpoint.ts'

export interface PasswordEndpointPorts extends BasicPorts {
  /** SERVICE_SECRET: all that are accepted. */
  readonly secrets: readonly string[]
}

/** POST /internal/verify-password: whose password it is, for deal servers, which keep none. */
export const passwordEndpoint = ({ verify, secrets }: PasswordEndpointPorts): InternalEndpoint => ({
  method: 'POST',
  path: '/verify-password',
  handle: async (call) => {
    const { credential, clientAddress } = await readBodyAs(call, sealedPasswordSchema)
    const opened = openInternally(credential, { secrets, purpose: passwordPurpose })
    if (opened === undefined) throw new Refused('invalid-body', 'The credential is not sealed as it should be.')
    const user = await verify({ ...presentedPasswordSchema.parse(JSON.parse(opened)), clientAddress })
    if (user) return jsonAnswer(200, user, noStore)
    throw new Refused('invalid-credentials', 'The user name or the password is not right.', {
      headers: { 'www-authenticate': ['Keyhold-Internal'] },
    })
  },
})
