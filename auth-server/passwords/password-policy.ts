/**
 * Which new passwords are accepted (docs/contract/accounts.md#passwords; NIST SP 800-63B §3.1.1: length and a
 * blocklist, no composition rules).
 */

import type { MemberError } from '../../shared/platform/problems/problem-document.ts'
import { exceedsPasswordLimit, maxPasswordBytes } from '../../shared/protocol/principal/password-limits.ts'
import { isCommonPassword } from './common-passwords.ts'

export { exceedsPasswordLimit }

/** In code points of the NFC form, which is also the form that is hashed (RFC 8265 §4.2). */
const minPasswordLength = 8

const productName = 'keyhold'

/** A new password and its user. */
export interface NewPassword {
  readonly password: string
  /** The user name of the account. */
  readonly username: string
}

/** The problems of a new password, for the member at `pointer`. Messages never contain parts of it. */
export function passwordProblems({ password, username }: NewPassword, pointer: string): MemberError[] {
  const problem = (code: string, message: string): MemberError[] => [{ pointer, code, message }]
  if (/[\0\p{Surrogate}]/u.test(password)) return problem('password-characters', 'must not hold NUL or lone surrogates')
  if (exceedsPasswordLimit(password)) return problem('password-too-long', `must be at most ${maxPasswordBytes} bytes`)
  const normalised = password.normalize('NFC')
  if ([...normalised].length < minPasswordLength) {
    return problem('password-too-short', `must be at least ${minPasswordLength} characters`)
  }
  if (isName(normalised, username)) {
    return problem('password-name', `must be more than the user name or "${productName}" with digits or punctuation`)
  }
  if (isCommonPassword(normalised))
    return problem('password-common', 'is known from breaches: many people had it before')
  return []
}

/** True when the password is the user's or the product's name, with only digits and punctuation added. */
function isName(password: string, username: string): boolean {
  const text = password.toLowerCase()
  const names = [username.toLowerCase(), productName].filter((name) => name !== '' && text.includes(name))
  const rest = names.reduce((left, name) => left.replaceAll(name, ''), text)
  return names.length > 0 && !/\p{L}/u.test(rest)
}
