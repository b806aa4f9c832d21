/**
 * Who acts for an account: its user, and the holders of the right that administers it. A credential of narrowed rights never acts for
 * the account of its user: it is for programs, and its rights say all that it may do. Every route asks here.
 */
import { Refused } from '../../shared/errors.ts'
import { foldUsername } from '../../shared/principals/record.ts'
import { type Caller, requireRights } from '../../shared/schemes/authenticate.ts'
import type { Right } from './rights.ts'

/** True unless the credential lets only some of its user's rights through. */
export const actsForItsUser = ({ credential }: Pick<Caller, 'credential'>): boolean => credential.rights === undefined

/** True when the caller acts for the account of this name as its user. */
export const isOwnAccount = (caller: Caller, username: string): boolean =>
  actsForItsUser(caller) && foldUsername(username) === foldUsername(caller.username)

/** For routes that a right opens for other accounts. @throws Refused `missing-right` */
export function requireAccount(caller: Caller, username: string, right: Right): void {
  if (!isOwnAccount(caller, username)) requireRights(caller, [right])
}

/** For routes that no right opens. @throws Refused `narrowed-credential` */
export function requireOwnAccount(caller: Caller): void {
  if (actsForItsUser(caller)) return
  throw new Refused(
    'narrowed-credential',
    'This credential lets only some of the rights of its user through. It does not act for the account of its user.',
  )
}
