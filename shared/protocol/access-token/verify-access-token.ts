/**
 * Verifies access tokens by jose, after their form and their header, and judges what jose does not. `bench/README.md`
 * has the cost.
 */

import type { KeyObject } from 'node:crypto'
import { errors, type JWSHeaderParameters, type JWTPayload, jwtVerify } from 'jose'
import { type Clock, unixSeconds } from '../../platform/clock.ts'
import { clockToleranceSeconds } from '../clock-tolerance.ts'
import {
  type AccessTokenAlg,
  type AccessTokenClaims,
  accessTokenAlgOf,
  accessTokenAlgs,
  accessTokenClaimsSchema,
  accessTokenTyp,
  maxAccessTokenLength,
  maxAccessTokenTtlSeconds,
} from './access-token.ts'
import { namesForeignKey, readJwsHeader } from './jws-header.ts'

/** The public keys that tokens are verified with. */
export interface VerificationKeys {
  /** The public key with this `kid`; undefined when it is unknown or was removed. Answers at once, from memory. */
  key(kid: string): KeyObject | undefined
}

/** The result of a verification. `reason` is for the log and for developers; it repeats nothing of the token. */
export type AccessTokenVerdict =
  | { readonly ok: true; readonly kid: string; readonly claims: AccessTokenClaims }
  /** The token is valid except that it has expired. */
  | { readonly ok: false; readonly problem: 'token-expired'; readonly claims: AccessTokenClaims }
  | {
      readonly ok: false
      readonly problem: 'invalid-token'
      readonly reason: string
      /** Set when the key is unknown: it may have been published since the keys were loaded. */
      readonly unknownKid?: string
    }

interface AccessTokenExpectations {
  readonly keys: VerificationKeys
  /** The claim `iss` must equal this. */
  readonly issuer: string
  readonly clock: Clock
}

/**
 * Verifies one access token (RFC 9068 §4, RFC 8725), whatever its audience: at once where the verdict is remembered.
 * Never throws.
 */
export type VerifyAccessToken = (token: string) => AccessTokenVerdict | Promise<AccessTokenVerdict>

/** A verifier of access tokens that remembers none. */
export function createAccessTokenVerifier(
  expectations: AccessTokenExpectations,
): (token: string) => Promise<AccessTokenVerdict> {
  return async function verifyAccessToken(token) {
    if (token.length > maxAccessTokenLength) return invalid('longer than any access token')
    const header = readJwsHeader(token)
    if (typeof header === 'string') return invalid(header)
    const problem = headerProblem(header)
    if (problem) return invalid(problem)
    const kid = String(header.kid)
    const key = expectations.keys.key(kid)
    if (!key) return { ...invalid('signed with an unknown key'), unknownKid: kid }
    const alg = accessTokenAlgOf(key)
    if (alg === undefined || header.alg !== alg) return invalid('not signed with the algorithm of its key')
    const now = expectations.clock.now()
    const signed = await verifySigned(token, key, { ...expectations, alg, now })
    return typeof signed === 'string' ? invalid(signed) : judgeClaims(signed, { kid, now: unixSeconds(now) })
  }
}

const invalid = (reason: string) => ({ ok: false, problem: 'invalid-token', reason }) as const

function headerProblem(header: JWSHeaderParameters): string | undefined {
  if (!accessTokenAlgs.some((alg) => alg === header.alg)) return 'not signed with an algorithm of access tokens'
  if (typeof header.typ !== 'string' || !/^(application\/)?at\+jwt$/i.test(header.typ)) return 'not an access token'
  if (typeof header.kid !== 'string' || header.kid === '' || header.kid.length > 128) return 'no usable kid'
  if (namesForeignKey(header)) return 'a header member that is not accepted'
  return undefined
}

/** Claims under a right signature, with the right issuer and `nbf`. */
interface SignedClaims {
  readonly payload: JWTPayload
  readonly hasExpired: boolean
}

interface SignedExpectations extends AccessTokenExpectations {
  readonly alg: AccessTokenAlg
  /** Milliseconds since the epoch. */
  readonly now: number
}

/** The claims if jose accepts the token, or accepts all but its expiry; otherwise a phrase that says what is wrong. */
async function verifySigned(
  token: string,
  key: KeyObject,
  { alg, issuer, now }: SignedExpectations,
): Promise<SignedClaims | string> {
  const expected = { algorithms: [alg], typ: accessTokenTyp, issuer }
  try {
    // jose imports each KeyObject once.
    const { payload } = await jwtVerify(token, key, { ...expected, currentDate: new Date(now) })
    return { payload, hasExpired: false }
  } catch (error) {
    return error instanceof errors.JWTExpired ? { payload: error.payload, hasExpired: true } : reasonOf(error)
  }
}

const claimReasons: Readonly<Record<string, string>> = {
  iss: 'of another issuer',
  nbf: 'not valid yet',
}

const wrongClaim = 'a claim is missing or of the wrong type'

/** What an error of jose means. */
function reasonOf(error: unknown): string {
  if (error instanceof errors.JWTInvalid) return wrongClaim
  if (!(error instanceof errors.JWTClaimValidationFailed)) return 'the signature is not right'
  return (error.reason === 'check_failed' && claimReasons[error.claim]) || wrongClaim
}

function judgeClaims(
  { payload, hasExpired }: SignedClaims,
  { kid, now }: { readonly kid: string; readonly now: number },
): AccessTokenVerdict {
  const parsed = accessTokenClaimsSchema.safeParse(payload)
  if (!parsed.success) return invalid(wrongClaim)
  const claims = parsed.data
  if (claims.iat > now + clockToleranceSeconds) return invalid('issued in the future')
  if (claims.exp <= claims.iat || claims.exp - claims.iat > maxAccessTokenTtlSeconds)
    return invalid('of no sane lifetime')
  return hasExpired ? { ok: false, problem: 'token-expired', claims } : { ok: true, kid, claims }
}
