/** Every code this server answers with, and its status. */

import type { ProblemEntry } from '../../shared/platform/problems/problem-document.ts'
import { authProblems } from '../../shared/protocol/problems/auth-server.ts'
import { type SharedProblemCode, sharedProblems } from '../../shared/protocol/problems/both-servers.ts'

/** Codes of the auth server's own. `invalid_grant` is spelt as in RFC 6749 §5.2. */
export type AuthProblemCode =
  | 'reserved-user'
  | 'invalid_grant'
  | 'last-admin'
  | 'narrowed-credential'
  | 'recent-login-required'
  | 'too-many-api-keys'
  | 'too-many-key-pairs'
  | 'too-many-logins'
  | 'user-exists'
  | 'wrong-password'

const table = { ...sharedProblems, ...authProblems } satisfies Record<AuthProblemCode | SharedProblemCode, ProblemEntry>

/** The table, with the status the operator chose for expired tokens (EXPIRED_TOKEN_STATUS). */
export const createAuthProblems = (
  expiredTokenStatus: number,
): Record<AuthProblemCode | SharedProblemCode, ProblemEntry> => ({
  ...table,
  'token-expired': { ...table['token-expired'], status: expiredTokenStatus },
})
