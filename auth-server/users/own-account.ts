/** What refuses a caller who acts for an account: each route about one account asks here (`shared/protocol/authentication/own-account.ts`). */
import { ProblemError } from '../../shared/platform/problems/errors.ts'
import { type Caller, requireRights } from '../../shared/protocol/authentication/authenticate.ts'
import { actsForItsUser, isOwnAccount } from '../../shared/protocol/authentication/own-account.ts'
import type { Right } from './rights.ts'

/** For routes about one's own account that a right opens for other accounts too. @throws ProblemError `missing-right` */
export function requireAccount(caller: Caller, username: string, right: Right): void {
  if (!isOwnAccount(caller, username)) requireRights(caller, [right])
}

/** For routes about one's own account alone. @throws ProblemError `narrowed-credential` */
export function requireOwnAccount(caller: Caller): void {
  if (actsForItsUser(caller)) return
  throw new ProblemError(
    'narrowed-credential',
    'This credential lets only some of the rights of its user through. It does not act for the account of its user.',
  )
}
