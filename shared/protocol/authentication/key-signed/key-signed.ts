/** Key-signed tokens (CONTRACT section 3; `docs/key-signed-token.md`). */

import type { HttpCall } from '../../../platform/http/call.ts'
import { Refused } from '../../../platform/problems/errors.ts'
import type { KeySignedClaims } from '../../key-signed-token/key-signed-payload.ts'
import type { KeySignedVerdict, VerifyKeySignedToken } from '../../key-signed-token/verify-key-signed-token.ts'
import { anonymousUsername } from '../../principal/record.ts'
import { realm, type Scheme, type VerifiedCredential } from '../scheme.ts'

/** A password as it came. */
export interface TokenPasswordAttempt {
  /** The value of `X-Key-Signed-Password`. */
  readonly field: string
  /** The client's canonical address. */
  readonly address: string
}

/** Tells whether a password is the one whose hash a token holds. */
export interface TokenPasswords {
  /**
   * At once when it is known, else after the time that Argon2 takes.
   * @throws Refused `invalid-parameter`, `too-many-attempts`; Unavailable(`hashing`)
   */
  isRight(claims: KeySignedClaims, attempt: TokenPasswordAttempt): boolean | Promise<boolean>
}

export interface KeySignedPorts {
  readonly verify: VerifyKeySignedToken
  /** Looks once more for a key that a token names; true when it is there now. @throws Unavailable when nobody can tell */
  findKey(kid: string): Promise<boolean>
  readonly passwords: TokenPasswords
}

const challenge = `KeySigned realm="${realm}"`
const headers = { 'www-authenticate': [challenge] }

/** `Authorization: KeySigned kst1.…`, with `X-Key-Signed-Password` when the token holds the hash of a password, and only then. */
export const createKeySignedScheme = ({ verify, findKey, passwords }: KeySignedPorts): Scheme => ({
  name: 'key-signed',
  isSentByBrowsers: false,
  challenge: () => challenge,
  refusalHeaders: () => headers,
  place: { authorization: 'keysigned' },
  verify: (token, call) => {
    const verdict = verify(token)
    // Only the verifier knows when a key is revoked.
    const use = { call, passwords, recheck: async () => void claimsOf(verify(token)) }
    if (!verdict.ok && 'unknownKid' in verdict && verdict.unknownKid !== undefined) {
      return findKey(verdict.unknownKid).then((found) => requireUser(claimsOf(found ? verify(token) : verdict), use))
    }
    return requireUser(claimsOf(verdict), use)
  },
})

/** @throws Refused `token-expired`, `invalid-token`: the same whatever is wrong */
function claimsOf(verdict: KeySignedVerdict): KeySignedClaims {
  if (verdict.ok) return verdict.claims
  if (verdict.problem === 'token-expired') {
    throw new Refused('token-expired', 'The key-signed token has expired. Get a new one.', { headers })
  }
  throw new Refused('invalid-token', 'The key-signed token is not accepted.', { headers })
}

interface Use {
  readonly call: HttpCall
  readonly passwords: TokenPasswords
  readonly recheck: () => Promise<void>
}

/**
 * Whoever sends the token must be where it says and know what it says. A password that a token does not ask for is refused: its sender
 * takes the token for a better kept one than it is.
 * @throws Refused `invalid-token`, `invalid-parameter`, `token-password-required`, `invalid-credentials`, `too-many-attempts`
 */
function requireUser(
  claims: KeySignedClaims,
  { call, passwords, recheck }: Use,
): VerifiedCredential | Promise<VerifiedCredential> {
  const { address } = call.peer
  if (claims.address !== null && claims.address !== address) {
    throw new Refused('invalid-token', 'The key-signed token is good for another client address only.', { headers })
  }
  const field = call.header('x-key-signed-password')
  if (claims.passwordHash === null) {
    if (field === undefined) return credentialOf(claims, recheck)
    throw new Refused('invalid-token', 'The key-signed token holds no password: send it without one.', { headers })
  }
  if (field === undefined) {
    throw new Refused('token-password-required', 'Send the password of the token in X-Key-Signed-Password.', {
      headers,
    })
  }
  const credential = credentialOf(claims, recheck)
  const isRight = passwords.isRight(claims, { field, address })
  return typeof isRight === 'boolean'
    ? requireRight(isRight, credential)
    : isRight.then((right) => requireRight(right, credential))
}

function requireRight(isRight: boolean, credential: VerifiedCredential): VerifiedCredential {
  if (isRight) return credential
  throw new Refused('invalid-credentials', 'The password is not the one of the token.', { headers })
}

const credentialOf = (
  { sub, gen, jti, exp, passwordHash }: KeySignedClaims,
  recheck: Use['recheck'],
): VerifiedCredential => ({
  username: sub ?? anonymousUsername,
  generation: gen,
  // It belongs to no login: a change of the own password keeps none of these tokens alive.
  loginId: undefined,
  tokenId: jti,
  expiresAt: exp * 1000,
  carriesPassword: passwordHash !== null,
  recheck,
})
