/** The problem codes of the auth server. `invalid_grant` is spelt as in RFC 6749 §5.2. */
import type { ProblemEntry } from '../../platform/problems/problem-document.ts'

/** The codes that only the auth server uses. */
export const authProblems = {
  invalid_grant: {
    status: 400,
    title: 'The refresh token is not accepted',
    meaning:
      'The token is no refresh token, has expired, its login has ended, or it was used before and may not be ' +
      'repeated any more.',
    remedy:
      'Log in again. Keep only the newest refresh token. If an answer was lost, repeat the request at once: a ' +
      'token that comes back after the time for repeating, or after its successor was used, ends the login.',
  },
  'wrong-password': {
    status: 403,
    title: 'The password is not right',
    meaning:
      'A new password of their own, an API key and a Digest secret are for users who know their present password, ' +
      'and this was not it.',
    remedy:
      'Send your present password, as oldPassword with a new one, else as password; if it is lost, an ' +
      'administrator can set a new one.',
  },
  'recent-login-required': {
    status: 403,
    title: 'The password or a recent login is required',
    meaning:
      'An API key or a Digest secret outlives the login that makes it, so a token or a key alone is not enough to ' +
      'make one.',
    remedy: 'Send your password in the member password, or log in again and repeat the request within five minutes.',
  },
  'narrowed-credential': {
    status: 403,
    title: 'A credential of narrowed rights does not act for the account of its user',
    meaning: 'An API key or a token that lets only some of the rights of its user through cannot see or end logins.',
    remedy: 'Log in as the user, or use a key without rights of its own.',
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
  'too-many-key-pairs': {
    status: 429,
    title: 'Too many RSA pairs were made for this user within a minute',
    meaning: 'To make a pair costs much computing time, so one user may have only some made in a minute.',
    remedy: 'Wait as many seconds as Retry-After says, or make the pair yourself and send its publicKeyPem.',
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
