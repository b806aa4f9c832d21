/** POST /refresh: a refresh token for a new pair (CONTRACT section 2). */

import type { HttpRequest } from '../../../shared/platform/http/request.ts'
import { ProblemError } from '../../../shared/platform/problems/errors.ts'
import type { LoginThrottle } from '../../../shared/protocol/login-throttle/login-throttle.ts'
import type { Audit } from '../../audit/audit.ts'
import type { TokenResponse } from '../../logins/issue-tokens.ts'
import type { Refresh } from '../../logins/refresh.ts'
import { type AuditedWork, eventOf } from '../pipeline/audited.ts'
import { defineCredentialEndpoint } from '../pipeline/endpoint.ts'
import { token } from '../pipeline/own-credential.ts'
import { noCache, tokenPair } from './tokens.ts'

/** What a refresh needs, here and at `/oauth/token`. */
export interface RefreshEndpointPorts {
  readonly refresh: Refresh
  readonly audit: Audit
  readonly loginThrottle: Pick<LoginThrottle, 'judge'>
}

/** POST /refresh. */
export const refreshEndpoint = (ports: RefreshEndpointPorts) =>
  defineCredentialEndpoint({
    method: 'POST',
    path: '/refresh',
    id: 'refresh',
    summary: 'Exchange a refresh token for a new pair',
    description:
      'Only the latest token of a login is good for it. If the answer was lost, repeat the request within `REFRESH_RETRY_WINDOW` (60 seconds unless set otherwise): it returns the same refresh token, as long as that one is unused. Later reuse ends the login.',
    tag: 'tokens',
    caller: token,
    security: ['refreshToken'],
    ...tokenPair,
    problems: ['invalid_grant', 'too-many-attempts'],
    handle: async ({ request, caller }) => ({ body: await auditedRefresh(request, caller, ports), headers: noCache }),
  })

/**
 * A refresh with its entries: the new pair or the refusal, and before it, when a used token comes back, that the login
 * ends. What belongs to no login that is known is refused without an entry. Each failure counts for the client's
 * address; a token that is right is never refused by that, since its client could lose its login by waiting.
 *
 * @throws ProblemError as `Refresh`, `too-many-attempts`; Unavailable
 */
export async function auditedRefresh(
  request: HttpRequest,
  token: string,
  { refresh, audit, loginThrottle }: RefreshEndpointPorts,
): Promise<TokenResponse> {
  let about: AuditedWork = { request, action: 'token.refreshed' }
  let isKnown = false
  try {
    const answer = await refresh(token, {
      found: ({ id: target, username: actor }) => {
        about = { ...about, actor, target }
        isKnown = true
      },
      reused: () => audit.record(eventOf({ ...about, action: 'login.ended' }, 'refresh-token-reused')),
    })
    await audit.record(eventOf(about, 'succeeded'))
    return answer
  } catch (error) {
    if (!(error instanceof ProblemError)) throw error
    if (isKnown) await audit.recordRefusal(eventOf(about, error.code))
    await countFailure(request, { audit, loginThrottle })
    throw error
  }
}

/** @throws ProblemError `too-many-attempts`; Unavailable */
async function countFailure(
  request: HttpRequest,
  { audit, loginThrottle }: Pick<RefreshEndpointPorts, 'audit' | 'loginThrottle'>,
) {
  try {
    await loginThrottle.judge({ account: undefined, address: request.peer.address }, false)
  } catch (error) {
    if (error instanceof ProblemError)
      await audit.recordRefusal(eventOf({ request, action: 'token.refreshed' }, error.code))
    throw error
  }
}
