/** POST /login: a login by user name and password (docs/contract/logins.md#login). */

import { defineCredentialEndpoint } from '../../../shared/server/endpoints/endpoint.ts'
import { nameCaller, password } from '../request-parts/own-credential.ts'
import type { AuthServices } from '../services/auth-services.ts'
import { accountNameOf, factorProblems, loginProofBody } from './second-factors/login-proof.ts'
import { noCache, tokenPair } from './tokens.ts'

/** POST /login. */
export const loginEndpoint = ({ logIn, secondFactors, audiences }: AuthServices) =>
  defineCredentialEndpoint({
    method: 'POST',
    path: '/login',
    id: 'logIn',
    summary: 'Log in with user name and password',
    description:
      'Keep one login and refresh it. A user has at most `MAX_LOGINS_PER_USER` (100 unless set otherwise) logins, ' +
      'sessions included: the one longest not used ends when another begins. A user who needs a second factor sends ' +
      '`code` too, or answers the `challenge` of the refusal with a code or a passkey, and with `resource` again.',
    tag: 'tokens',
    caller: password,
    body: loginProofBody(audiences),
    ...tokenPair,
    problems: ['too-many-logins', ...factorProblems],
    audit: ({ body }) => {
      const username = accountNameOf(body, secondFactors)
      return { actor: username, action: 'login.started', target: username }
    },
    handle: async ({ request, body }) => {
      const client = { clientAddress: request.peer.address, userAgent: request.header('user-agent') }
      return { body: await logIn({ ...body, ...client, proved: nameCaller(request) }), headers: noCache }
    },
  })
