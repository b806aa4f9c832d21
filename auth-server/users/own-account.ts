/** The rule of routes about the caller's own account (`shared/protocol/authentication/own-account.ts`). */
import { ProblemError } from '../../shared/platform/problems/errors.ts'
import type { Caller } from '../../shared/protocol/authentication/authenticate.ts'
import { actsForItsUser } from '../../shared/protocol/authentication/own-account.ts'

/**
 * Refuses a narrowed credential: it does not act for the account of its user. @throws ProblemError
 * `narrowed-credential`
 */
export function requireOwnAccount(caller: Caller): void {
  if (actsForItsUser(caller)) return
  throw new ProblemError(
    'narrowed-credential',
    'This credential lets only some of the rights of its user through. It does not act for the account of its user.',
  )
}
