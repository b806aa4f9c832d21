/**
 * Decides whether a caller acts for an account as its user. A credential of narrowed rights never does: it is for
 * programs, and its rights are all that it may do. Nor does the token of a service behind a proxy: the user is not
 * there. Both servers use this wherever a user may do without a right what others need a right for.
 */
import { ProblemError } from '../../platform/problems/errors.ts'
import { foldUsername } from '../principal/record.ts'
import type { VerifiedCredential } from './scheme.ts'

/** The parts of a caller that decide. */
export interface AccountUser {
  readonly username: string
  readonly credential: Pick<VerifiedCredential, 'rights' | 'isForwarded'>
}

/** True unless the credential has only some of the rights of its user, or is that of a service behind a proxy. */
export const actsForItsUser = ({ credential }: Pick<AccountUser, 'credential'>): boolean =>
  credential.rights === undefined && credential.isForwarded !== true

/** True when the caller is the user of the account with this name. */
export const isOwnAccount = (caller: AccountUser, username: string): boolean =>
  actsForItsUser(caller) && foldUsername(username) === foldUsername(caller.username)

/** Refuses a credential that does not act for the account of its user. @throws ProblemError `narrowed-credential` */
export function requireOwnAccount({ credential }: Pick<AccountUser, 'credential'>): void {
  if (actsForItsUser({ credential })) return
  throw new ProblemError(
    'narrowed-credential',
    credential.isForwarded
      ? 'This token is for a service behind a proxy. It does not act for the account of its user.'
      : 'This credential lets only some of the rights of its user through. It does not act for the account of its user.',
  )
}
