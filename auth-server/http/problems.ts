/** All problem codes of this server, each with its status. */

import type { ProblemEntry } from '../../shared/platform/problems/problem-document.ts'
import { authProblems } from '../../shared/protocol/problems/auth-server.ts'
import { type SharedProblemCode, sharedProblems } from '../../shared/protocol/problems/both-servers.ts'

/** Problem codes that only the auth server uses. `invalid_grant` is spelled as in RFC 6749 §5.2. */
export type AuthProblemCode =
  | 'body-not-forwarded'
  | 'invalid-original-request'
  | 'invalid-authorization-request'
  | 'invalid-reset-code'
  | 'invalid-user-code'
  | 'exchange-not-open'
  | 'client-exists'
  | 'client-without-secret'
  | 'service-exists'
  | 'too-many-clients'
  | 'too-many-device-requests'
  | 'too-many-services'
  | 'reserved-user'
  | 'invalid_grant'
  | 'last-admin'
  | 'second-factor-required'
  | 'second-factor-enrolment-required'
  | 'second-factor-missing'
  | 'second-factor-not-confirmed'
  | 'invalid-second-factor'
  | 'too-many-second-factors'
  | 'too-many-api-keys'
  | 'too-many-key-pairs'
  | 'too-many-logins'
  | 'untrusted-proxy'
  | 'user-disabled'
  | 'user-exists'

const table = { ...sharedProblems, ...authProblems } satisfies Record<AuthProblemCode | SharedProblemCode, ProblemEntry>

/** Creates the table of problems with the operator's status for expired tokens (EXPIRED_TOKEN_STATUS). */
export const createAuthProblems = (
  expiredTokenStatus: number,
): Record<AuthProblemCode | SharedProblemCode, ProblemEntry> => ({
  ...table,
  'token-expired': { ...table['token-expired'], status: expiredTokenStatus },
})
