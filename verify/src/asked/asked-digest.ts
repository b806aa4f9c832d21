/** The scheme `digest` of a service without Digest secrets: its own nonces, responses that the auth server checks. */

import { challengedScheme, wrongResponse } from '../../../shared/protocol/authentication/digest/digest.ts'
import { parseDigestCredential } from '../../../shared/protocol/authentication/digest/digest-credential.ts'
import type { DigestNonces } from '../../../shared/protocol/authentication/digest/digest-nonce.ts'
import type { Scheme } from '../../../shared/protocol/authentication/scheme.ts'
import type { AskAboutRequest } from './ask-about-requests.ts'
import { credentialOf, describeRequest } from './described-request.ts'

/** What the auth server needs of a request: the response, and whether a browser would open a dialog for a challenge. */
const fields = ['authorization', 'sec-fetch-mode']

/**
 * Makes the scheme. A response is good once, so none is remembered. Nonces that are not of this service are refused
 * here.
 */
export function createAskedDigest(ask: AskAboutRequest, publicOrigin: string, nonces: DigestNonces): Scheme {
  const challenged = challengedScheme(nonces)
  return {
    ...challenged,
    verify: async (text, request) => {
      const credential = parseDigestCredential(text)
      if (!credential || !nonces.read(credential.nonce)) throw wrongResponse(challenged.refusalHeaders(request))
      const described = describeRequest(request, { fields, publicOrigin, hasBody: false })
      return credentialOf(await ask(described, request), request)
    },
  }
}
