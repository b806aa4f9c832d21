import { requireSecureTransport } from '../../../../shared/platform/http/transport.ts'
import { ProblemError } from '../../../../shared/platform/problems/errors.ts'
import type { Caller } from '../../../../shared/protocol/authentication/authenticate.ts'
import { sharedProblems } from '../../../../shared/protocol/problems/both-servers.ts'
import type { OwnCredential } from '../../pipeline/own-credential.ts'
import { originalRequestOf } from './original-request.ts'

/** The credential of the request that a proxy asks about, by any enabled scheme. */
export const forwardedCredential: OwnCredential<Caller> = {
  kind: 'forwarded',
  find: async (request, authenticate) => {
    const original = originalRequestOf(request)
    request.asksAbout = original
    requireSecureTransport(original.peer)
    try {
      return await authenticate(original)
    } catch (error) {
      throw isMalformed(error) ? error.withStatus(401) : error
    }
  },
  problems: ['untrusted-proxy', 'invalid-original-request', 'unauthenticated', 'body-not-forwarded', 'cross-site'],
  security: [],
}

const statuses: Readonly<Record<string, { readonly status: number }>> = sharedProblems

/** True for a credential that elsewhere is refused with 400. nginx knows no other refusals than 401 and 403. */
const isMalformed = (error: unknown): error is ProblemError =>
  error instanceof ProblemError && statuses[error.code]?.status === 400
