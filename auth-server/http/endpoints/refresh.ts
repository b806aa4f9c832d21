/** POST /refresh: exchanges a refresh token for a new pair (docs/contract/logins.md#refresh-rotation). */

import type { HttpRequest } from '../../../shared/platform/http/request.ts'
import { ProblemError } from '../../../shared/platform/problems/errors.ts'
import { originOf } from '../../../shared/protocol/authentication/application.ts'
import type { ChangeEntry } from '../../../shared/protocol/entry-changes.ts'
import { defineCredentialEndpoint } from '../../../shared/server/endpoints/endpoint.ts'
import type { TokenResponse } from '../../logins/issue-tokens.ts'
import type { LoginFound, Refreshing } from '../../logins/refresh.ts'
import { eventAt } from '../request-parts/audited.ts'
import { token } from '../request-parts/own-credential.ts'
import type { AuthServices } from '../services/auth-services.ts'
import { noCache, tokenPair } from './tokens.ts'

/** POST /refresh. */
export const refreshEndpoint = (services: AuthServices) =>
  defineCredentialEndpoint({
    method: 'POST',
    path: '/refresh',
    id: 'refresh',
    summary: 'Exchange a refresh token for a new pair',
    description:
      'Only the latest token of a login is good for it. If the answer was lost, repeat the request within ' +
      '`REFRESH_RETRY_WINDOW` (60 seconds unless set otherwise): it returns the same refresh token, as long as ' +
      'that one is unused. Later reuse ends the login.',
    tag: 'tokens',
    caller: token,
    security: ['refreshToken'],
    ...tokenPair,
    problems: ['invalid_grant', 'too-many-attempts'],
    auditsItself: true,
    handle: async ({ request, caller }) => ({
      body: await auditedRefresh(request, caller, services),
      headers: noCache,
    }),
  })

/**
 * Refreshes, and logs refusals of tokens of known logins. The login throttle counts each failure for the client's
 * address. It never refuses a valid token, because a client that waits could lose its login. A request whose client has
 * gone is not decided: the client repeats it, and this one would come too late.
 *
 * @throws ProblemError as `Refresh`, `too-many-attempts`, `malformed-request`; Unavailable
 */
export async function auditedRefresh(
  request: HttpRequest,
  token: string,
  services: AuthServices,
  refreshing: Omit<Refreshing, 'found' | 'origin'> = {},
): Promise<TokenResponse> {
  const { refresh, audit } = services
  if (await request.hasClosed())
    throw new ProblemError('malformed-request', 'The client did not wait for the response.')
  let known: ChangeEntry | undefined
  try {
    const found: LoginFound = ({ id: target, username: actor }) => {
      known = { action, actor, target }
    }
    return await refresh(token, { ...refreshing, found, origin: originOf(request) })
  } catch (error) {
    if (!(error instanceof ProblemError)) throw error
    if (known) await audit.recordRefusal(eventAt(request, { ...known, outcome: error.code }))
    await countFailure(request, services)
    throw error
  }
}

const action = 'token.refreshed'

/** @throws ProblemError `too-many-attempts`; Unavailable */
async function countFailure(request: HttpRequest, { audit, loginThrottle }: AuthServices) {
  try {
    await loginThrottle.judge({ account: undefined, address: request.peer.address }, false)
  } catch (error) {
    if (error instanceof ProblemError) await audit.recordRefusal(eventAt(request, { action, outcome: error.code }))
    throw error
  }
}
