/** GET /internal/api-keys/{id}, and POST …/used: what deal servers verify signed requests with, and what they report of it. */

import { sealInternally } from '../../../shared/platform/crypto/internal-sealing.ts'
import { emptyAnswer, jsonAnswer, noStore } from '../../../shared/platform/http/answer.ts'
import type { HttpCall } from '../../../shared/platform/http/call.ts'
import { Refused } from '../../../shared/platform/problems/errors.ts'
import { apiKeySecretPurpose, type InternalApiKey } from '../../../shared/protocol/internal-api/api-keys.ts'
import type { ApiKeys } from '../../api-keys/api-keys.ts'
import type { InternalEndpoint } from './internal-endpoint.ts'

/** The endpoints about API keys. */
export const apiKeyEndpoints = ({
  apiKeys,
}: {
  readonly apiKeys: Pick<ApiKeys, 'material' | 'noteUse'>
}): InternalEndpoint[] => [
  {
    method: 'GET',
    path: '/api-keys/:id',
    handle: async (call, serviceSecret) => {
      const material = await apiKeys.material(idOf(call))
      if (!material) throw new Refused('not-found', 'There is no such API key.')
      const { secret, ...rest } = material
      const sealing = { secret: serviceSecret, purpose: apiKeySecretPurpose(material.id) }
      const answer: InternalApiKey = { ...rest, secretSealed: secret === null ? null : sealInternally(secret, sealing) }
      return jsonAnswer(200, answer, noStore)
    },
  },
  {
    method: 'POST',
    path: '/api-keys/:id/used',
    handle: async (call) => {
      await apiKeys.noteUse(idOf(call))
      return emptyAnswer(204, noStore)
    },
  },
]

const idOf = (call: HttpCall): string => call.pathParameters.id ?? ''
