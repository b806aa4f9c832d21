/** Every code this server answers with, and its status. */
import { type ProblemEntry, type SharedProblemCode, sharedProblems } from '../../shared/problems.ts'

/** Codes of the auth server's own. `invalid_grant` is spelt as in RFC 6749 §5.2. */
export type AuthProblemCode =
  | 'reserved-user'
  | 'invalid_grant'
  | 'last-admin'
  | 'too-many-logins'
  | 'user-exists'
  | 'wrong-password'

const authProblems = {
  ...sharedProblems,
  invalid_grant: { status: 400, title: 'The refresh token is not accepted' },
  'wrong-password': { status: 403, title: 'The old password is not right' },
  'last-admin': { status: 409, title: 'The last enabled admin cannot be removed' },
  'reserved-user': { status: 409, title: 'The principal anonymous is neither created nor deleted' },
  'user-exists': { status: 409, title: 'There is a user of this name already' },
  'too-many-logins': { status: 429, title: 'Too many ended logins of this user are still remembered' },
} as const satisfies Record<AuthProblemCode | SharedProblemCode, ProblemEntry>

/** The table, with the status the operator chose for expired tokens (EXPIRED_TOKEN_STATUS). */
export const createAuthProblems = (
  expiredTokenStatus: number,
): Record<AuthProblemCode | SharedProblemCode, ProblemEntry> => ({
  ...authProblems,
  'token-expired': { ...authProblems['token-expired'], status: expiredTokenStatus },
})
