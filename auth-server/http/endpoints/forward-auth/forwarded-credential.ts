import { requireSecureTransport } from '../../../../shared/platform/http/transport.ts'
import { ProblemError } from '../../../../shared/platform/problems/errors.ts'
import { createAudience } from '../../../../shared/protocol/authentication/audience.ts'
import type { Caller } from '../../../../shared/protocol/authentication/authenticate.ts'
import { isSafeRequest } from '../../../../shared/protocol/authentication/scheme.ts'
import { sharedProblems } from '../../../../shared/protocol/problems/both-servers.ts'
import type { OwnCredential } from '../../../../shared/server/endpoints/endpoint.ts'
import type { Audiences, OtherServer } from '../../../oauth/audiences.ts'
import { originalRequestOf } from './original-request.ts'

/** The caller of a request to another service, and that service. */
export interface ForwardedCaller {
  readonly caller: Caller
  /** What the parameter `resource` names, as `Audiences.chooseServer` has it. */
  readonly server: OtherServer | null | undefined
  /** True when the request changes nothing. */
  readonly isSafe: boolean
}

/**
 * The credential of the request that a proxy asks about, by any enabled scheme. It is for the pair, or for the service
 * that `resource` names.
 */
export const forwardedCredential = (audiences: Pick<Audiences, 'chooseServer'>): OwnCredential<ForwardedCaller> => ({
  kind: 'forwarded',
  find: async (request, authenticate) => {
    const original = originalRequestOf(request)
    request.asksAbout = original
    requireSecureTransport(original.peer)
    const server = await audiences.chooseServer(request.query.get('resource') ?? undefined)
    try {
      const also = server ? createAudience(server.audience, { isOfPair: false }) : undefined
      original.foreignAudience = also?.name
      return { server, caller: await authenticate(original, also), isSafe: isSafeRequest(original) }
    } catch (error) {
      throw isMalformed(error) ? error.withStatus(401) : error
    }
  },
  problems: ['untrusted-proxy', 'invalid-original-request', 'unauthenticated', 'body-not-forwarded', 'cross-site'],
  security: [],
})

const statuses: Readonly<Record<string, { readonly status: number }>> = sharedProblems

/** True for a credential that elsewhere is refused with 400. nginx knows no other refusals than 401 and 403. */
const isMalformed = (error: unknown): error is ProblemError =>
  error instanceof ProblemError && statuses[error.code]?.status === 400
