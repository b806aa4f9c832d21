import { sealInternally } from '../../../shared/platform/crypto/internal-sealing.ts'
import { jsonAnswer, noStore } from '../../../shared/platform/http/answer.ts'
import { Refused } from '../../../shared/platform/problems/errors.ts'
import type { DigestPorts } from '../../../shared/protocol/authentication/digest/digest.ts'
import { digestSecretPurpose, type InternalDigestSecret } from '../../../shared/protocol/internal-api/digest-secrets.ts'
import type { InternalEndpoint } from './internal-endpoint.ts'

/** GET /internal/digest-secrets?username= or ?userhash=: what deal servers verify HTTP Digest with. */
export const digestSecretEndpoint = ({ find }: Pick<DigestPorts, 'find'>): InternalEndpoint => ({
  method: 'GET',
  path: '/digest-secrets',
  handle: async (call, serviceSecret) => {
    const query = call.query
    const userhash = query.get('userhash')
    const found = await find(userhash === null ? { username: query.get('username') ?? '' } : { userhash })
    if (!found) throw new Refused('not-found', 'There is no such Digest secret.')
    const { ha1, ...owner } = found
    const sealing = { secret: serviceSecret, purpose: digestSecretPurpose(owner.userId) }
    const answer: InternalDigestSecret = { ...owner, ha1Sealed: sealInternally(ha1, sealing) }
    return jsonAnswer(200, answer, noStore)
  },
})
