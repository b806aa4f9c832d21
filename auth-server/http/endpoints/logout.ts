/** POST /logout: ends the login of an access token or a refresh token (docs/contract/logins.md#logout). */

import { defineCredentialEndpoint } from '../../../shared/server/endpoints/endpoint.ts'
import { token } from '../request-parts/own-credential.ts'
import type { AuthServices } from '../services/auth-services.ts'
import { noCache } from './tokens.ts'

/** POST /logout. A token of an API key belongs to no login and is revoked alone. */
export const logoutEndpoint = ({ logOut, revokeToken }: AuthServices) =>
  defineCredentialEndpoint({
    method: 'POST',
    path: '/logout',
    id: 'logOut',
    summary: 'End the login that either of its tokens names',
    description: 'An access token of an API key belongs to no login, and ends alone.',
    tag: 'tokens',
    caller: token,
    security: ['bearer', 'refreshToken'],
    success: { description: 'None of its tokens works any more.' },
    problems: ['invalid-token', 'narrowed-credential', 'too-many-logins'],
    handle: async ({ caller }) => {
      if (!(await logOut(caller))) await revokeToken(caller)
      return { headers: noCache }
    },
  })
