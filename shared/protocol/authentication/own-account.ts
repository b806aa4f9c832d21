/**
 * Who acts for the account of a user: that user. A credential of narrowed rights never does: it is for programs, and its rights say all
 * that it may do. Both servers ask here wherever a user may do without a right what others need one for.
 */
import { foldUsername } from '../principal/record.ts'
import type { VerifiedCredential } from './scheme.ts'

/** A caller, as far as an account can be the caller's own. */
export interface AccountUser {
  readonly username: string
  readonly credential: Pick<VerifiedCredential, 'rights'>
}

/** True unless the credential lets only some of its user's rights through. */
export const actsForItsUser = ({ credential }: Pick<AccountUser, 'credential'>): boolean =>
  credential.rights === undefined

/** True when the caller acts for the account of this name as its user. */
export const isOwnAccount = (caller: AccountUser, username: string): boolean =>
  actsForItsUser(caller) && foldUsername(username) === foldUsername(caller.username)
