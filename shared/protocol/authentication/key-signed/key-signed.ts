/** The scheme `key-signed`: key-signed tokens (docs/contract/callers.md#key-signed-token). */

import type { HttpRequest } from '../../../platform/http/request.ts'
import { ProblemError } from '../../../platform/problems/errors.ts'
import type { KeySignedClaims } from '../../key-signed-token/key-signed-payload.ts'
import type { KeySignedVerdict, VerifyKeySignedToken } from '../../key-signed-token/verify-key-signed-token.ts'
import { anonymousUsername } from '../../principal/record.ts'
import { realm, type Scheme, type VerifiedCredential } from '../scheme.ts'

/** A password that came with a token. */
export interface TokenPasswordAttempt {
  /** The token that it came with. */
  readonly token: string
  /** The value of `X-Key-Signed-Password`. */
  readonly field: string
  /** The client's canonical address. */
  readonly address: string
}

/** The check of passwords against the hashes in tokens. */
export interface TokenPasswords {
  /**
   * True when the password is the token's: at once when that is cached, else after the time of an Argon2 hash.
   * @throws ProblemError `invalid-parameter`, `too-many-attempts`; Unavailable(`hashing`)
   */
  isRight(claims: KeySignedClaims, attempt: TokenPasswordAttempt): boolean | Promise<boolean>
}

interface KeySignedPorts {
  readonly verify: VerifyKeySignedToken
  /**
   * Loads keys again for an unknown `kid`; true when the key is known now. @throws Unavailable when the keys cannot be
   * loaded
   */
  findKey(kid: string): Promise<boolean>
  readonly passwords: TokenPasswords
}

const challenge = `KeySigned realm="${realm}"`
const headers = { 'www-authenticate': [challenge] }

/**
 * Reads `Authorization: KeySigned kst1.…`. `X-Key-Signed-Password` must be present exactly when the token has the hash
 * of a password.
 */
export const createKeySignedScheme = ({ verify, findKey, passwords }: KeySignedPorts): Scheme => ({
  name: 'key-signed',
  isSentByBrowsers: false,
  challenge: () => challenge,
  refusalHeaders: () => headers,
  place: { authorization: 'keysigned' },
  verify: (token, request) => {
    const verdict = verify(token)
    // The principal record does not show a revoked key: only the verifier does.
    const use = { token, request, passwords, recheck: async () => void claimsOf(verify(token)) }
    if (!verdict.ok && 'unknownKid' in verdict && verdict.unknownKid !== undefined) {
      return findKey(verdict.unknownKid).then((found) => requireUser(claimsOf(found ? verify(token) : verdict), use))
    }
    return requireUser(claimsOf(verdict), use)
  },
})

/** @throws ProblemError `token-expired`, `invalid-token`; the second one is the same for every failure */
function claimsOf(verdict: KeySignedVerdict): KeySignedClaims {
  if (verdict.ok) return verdict.claims
  if (verdict.problem === 'token-expired') {
    throw new ProblemError('token-expired', 'The key-signed token has expired. Get a new one.', { headers })
  }
  throw new ProblemError('invalid-token', 'The key-signed token is not accepted.', { headers })
}

interface Use {
  readonly token: string
  readonly request: HttpRequest
  readonly passwords: TokenPasswords
  readonly recheck: () => Promise<void>
}

/**
 * Checks that the request has the address and the password of the token. Rejects a password for a token that has none,
 * so that a client notices its wrong assumption.
 * @throws ProblemError `invalid-token`, `invalid-parameter`, `token-password-required`, `invalid-credentials`,
 * `too-many-attempts`
 */
function requireUser(
  claims: KeySignedClaims,
  { token, request, passwords, recheck }: Use,
): VerifiedCredential | Promise<VerifiedCredential> {
  const { address } = request.peer
  if (claims.address !== null && claims.address !== address) {
    throw new ProblemError('invalid-token', 'The key-signed token is good for another client address only.', {
      headers,
    })
  }
  const field = request.header('x-key-signed-password')
  if (claims.passwordHash === null) {
    if (field === undefined) return credentialOf(claims, recheck)
    throw new ProblemError('invalid-token', 'The key-signed token holds no password: send it without one.', { headers })
  }
  if (field === undefined) {
    throw new ProblemError('token-password-required', 'Send the password of the token in X-Key-Signed-Password.', {
      headers,
    })
  }
  const credential = credentialOf(claims, recheck)
  const isRight = passwords.isRight(claims, { token, field, address })
  return typeof isRight === 'boolean'
    ? requireRight(isRight, credential)
    : isRight.then((right) => requireRight(right, credential))
}

function requireRight(isRight: boolean, credential: VerifiedCredential): VerifiedCredential {
  if (isRight) return credential
  throw new ProblemError('invalid-credentials', 'The password is not the one of the token.', { headers })
}

const credentialOf = (
  { sub, gen, jti, exp, passwordHash, audience }: KeySignedClaims,
  recheck: Use['recheck'],
): VerifiedCredential => ({
  username: sub ?? anonymousUsername,
  generation: gen,
  // The token belongs to no login, so a user's change of the own password revokes it.
  loginId: undefined,
  audience,
  tokenId: jti,
  expiresAt: exp * 1000,
  carriesPassword: passwordHash !== null,
  recheck,
})
