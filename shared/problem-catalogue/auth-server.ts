/** The codes of the auth server's own. `invalid_grant` is spelt as in RFC 6749 §5.2. */
import type { ProblemEntry } from '../problems.ts'

/** Codes that only the auth server answers with. */
export const authProblems = {
  invalid_grant: {
    status: 400,
    title: 'The refresh token is not accepted',
    meaning:
      'The token is no refresh token, has expired, its login has ended, or it was used before and may not be repeated any more.',
    remedy:
      'Log in again. Keep only the newest refresh token. If an answer was lost, repeat the request at once: a token that comes back after the time for repeating, or after its successor was used, ends the login.',
  },
  'wrong-password': {
    status: 403,
    title: 'The old password is not right',
    meaning: 'To change their own password, users prove that they know the old one, and this was not it.',
    remedy: 'Send the present password as oldPassword; if it is lost, an administrator can set a new one.',
  },
  'last-admin': {
    status: 409,
    title: 'The last enabled admin cannot be removed',
    meaning: 'After this change nobody could manage users any more.',
    remedy: 'Make another enabled user an admin first.',
  },
  'reserved-user': {
    status: 409,
    title: 'The principal anonymous is neither created nor deleted',
    meaning: 'The user anonymous stands for callers without a name: it always exists and has no password.',
    remedy: 'Choose another name; of anonymous itself only roles and rights can be changed.',
  },
  'too-many-api-keys': {
    status: 409,
    title: 'The user has as many API keys as one may have',
    meaning: 'Each user may have 100 API keys that have neither been revoked nor expired.',
    remedy: 'Revoke keys that are no longer used, then try again.',
  },
  'user-exists': {
    status: 409,
    title: 'There is a user of this name already',
    meaning: 'User names differ by more than the case of letters, and this one is taken.',
    remedy: 'Choose another name, or change the user that exists.',
  },
  'too-many-logins': {
    status: 429,
    title: 'Too many ended logins of this user are still remembered',
    meaning: 'Ended logins are remembered until their last token has expired, and this user has as many as can be.',
    remedy:
      'Wait as many seconds as Retry-After says. Keep one login and refresh it instead of logging in for each call.',
  },
} as const satisfies Record<string, ProblemEntry>
