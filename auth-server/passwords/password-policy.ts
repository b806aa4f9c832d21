/**
 * Which new passwords are accepted (docs/contract.md#passwords; NIST SP 800-63B §3.1.1: length and a blocklist, no composition rules).
 */

import type { MemberError } from '../../shared/platform/problems/problem-document.ts'
import { exceedsPasswordLimit, maxPasswordBytes } from '../../shared/protocol/passwords/password-limits.ts'
import { isCommonPassword } from './common-passwords.ts'

export { exceedsPasswordLimit }

/** In code points of the NFC-normalised form, which is also what is hashed (RFC 8265 §4.2). */
const minPasswordLength = 8

const productName = 'keyhold'

/** A password that somebody is to have. */
export interface NewPassword {
  readonly password: string
  /** Whose it will be. */
  readonly username: string
}

/** What is wrong with a new password, for the member at `pointer`. Never repeats any of it. */
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

/** Whether nothing but digits and punctuation is left of it without the user's and the product's name. */
function isName(password: string, username: string): boolean {
  const text = password.toLowerCase()
  const names = [username.toLowerCase(), productName].filter((name) => name !== '' && text.includes(name))
  const rest = names.reduce((left, name) => left.replaceAll(name, ''), text)
  return names.length > 0 && !/\p{L}/u.test(rest)
}
