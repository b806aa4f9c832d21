/**
 * Which new passwords are accepted (CONTRACT "Passwords"; NIST SP 800-63B §3.1.1: length and a blocklist, no composition rules).
 */
import { dictionary } from '@zxcvbn-ts/language-common'
import { exceedsPasswordLimit, maxPasswordBytes } from '../../shared/passwords/password-limits.ts'
import type { MemberError } from '../../shared/problems.ts'

export { exceedsPasswordLimit }

/** In bytes of the NFC-normalised UTF-8 form, which is also what is hashed (RFC 8265 §4.2). */
const minPasswordBytes = 8

const common = new Set(dictionary['passwords-common'])

/** What is wrong with a new password, for the member at `pointer`. Never repeats any of it. */
export function passwordProblems(password: string, pointer: string): MemberError[] {
  const problem = (code: string, message: string): MemberError[] => [{ pointer, code, message }]
  if (/[\0\p{Surrogate}]/u.test(password)) return problem('password-characters', 'must not hold NUL or lone surrogates')
  if (exceedsPasswordLimit(password)) return problem('password-too-long', `must be at most ${maxPasswordBytes} bytes`)
  const normalised = password.normalize('NFC')
  if (Buffer.byteLength(normalised) < minPasswordBytes) {
    return problem('password-too-short', `must be at least ${minPasswordBytes} bytes`)
  }
  if (common.has(normalised.toLowerCase())) return problem('password-common', 'is among the most common passwords')
  return []
}
