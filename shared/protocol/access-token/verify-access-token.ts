/**
 * Verifies access tokens, synchronously: this stands in the way of every request (jose takes six times as long, and waits in the
 * thread pool behind password hashes). Accepts nothing that jose refuses; a test compares the two.
 */

import type { KeyObject } from 'node:crypto'
import { type Clock, unixSeconds } from '../../platform/clock.ts'
import { clockToleranceSeconds } from '../clock-tolerance.ts'
import {
  type AccessTokenClaims,
  accessTokenAlg,
  accessTokenClaimsSchema,
  maxAccessTokenLength,
  maxAccessTokenTtlSeconds,
} from './access-token.ts'
import { isSignedRs256, namesForeignKey, parseCompactJws, parseJsonObject } from './compact-jws.ts'

/** The public keys that access tokens may be signed with. */
export interface VerificationKeys {
  /** The RSA public key of this `kid`; undefined when it is unknown or removed. Does not wait for anything. */
  key(kid: string): KeyObject | undefined
}

/** What verification found. `reason` is for the log and for developers; it repeats nothing of the token. */
export type AccessTokenVerdict =
  | { readonly ok: true; readonly kid: string; readonly claims: AccessTokenClaims }
  /** Everything is right but its time is over. */
  | { readonly ok: false; readonly problem: 'token-expired'; readonly claims: AccessTokenClaims }
  | {
      readonly ok: false
      readonly problem: 'invalid-token'
      readonly reason: string
      /** Set when all that is wrong is that its key is not known (yet): fetching keys may help. */
      readonly unknownKid?: string
    }

/** What a token is checked against. */
export interface AccessTokenExpectations {
  readonly keys: VerificationKeys
  /** Exactly the claim `iss`. */
  readonly issuer: string
  /** Must be, or be among, the claim `aud`. */
  readonly audience: string
  readonly clock: Clock
}

/** Verifies one access token (RFC 9068 §4, RFC 8725). Never throws. */
export type VerifyAccessToken = (token: string) => AccessTokenVerdict

/** A verifier of access tokens. */
export function createAccessTokenVerifier(expectations: AccessTokenExpectations): VerifyAccessToken {
  return (token) => {
    if (token.length > maxAccessTokenLength) return invalid('longer than any access token')
    const jws = parseCompactJws(token)
    if (typeof jws === 'string') return invalid(jws)
    const problem = headerProblem(jws.header)
    if (problem) return invalid(problem)
    const kid = String(jws.header.kid)
    const key = expectations.keys.key(kid)
    if (!key) return { ...invalid('signed with an unknown key'), unknownKid: kid }
    if (!isSignedRs256(jws, key)) return invalid('the signature is not right')
    return judgeClaims(parseJsonObject(jws.payload), kid, expectations)
  }
}

const invalid = (reason: string) => ({ ok: false, problem: 'invalid-token', reason }) as const

function headerProblem(header: Readonly<Record<string, unknown>>): string | undefined {
  if (header.alg !== accessTokenAlg) return 'not signed with RS256'
  if (typeof header.typ !== 'string' || !/^(application\/)?at\+jwt$/i.test(header.typ)) return 'not an access token'
  if (typeof header.kid !== 'string' || header.kid === '' || header.kid.length > 128) return 'no usable kid'
  if (namesForeignKey(header)) return 'a header member that is not accepted'
  return undefined
}

function judgeClaims(
  payload: Record<string, unknown> | undefined,
  kid: string,
  { issuer, audience, clock }: AccessTokenExpectations,
): AccessTokenVerdict {
  const parsed = accessTokenClaimsSchema.safeParse(payload)
  if (!parsed.success) return invalid('a claim is missing or of the wrong type')
  const claims = parsed.data
  const now = unixSeconds(clock.now())
  if (claims.iss !== issuer) return invalid('of another issuer')
  if (typeof claims.aud === 'string' ? claims.aud !== audience : !claims.aud.includes(audience)) {
    return invalid('for another audience')
  }
  if (claims.iat > now + clockToleranceSeconds) return invalid('issued in the future')
  if (claims.nbf !== undefined && claims.nbf > now) return invalid('not valid yet')
  if (claims.exp <= claims.iat || claims.exp - claims.iat > maxAccessTokenTtlSeconds)
    return invalid('of no sane lifetime')
  if (claims.exp <= now) return { ok: false, problem: 'token-expired', claims }
  return { ok: true, kid, claims }
}
