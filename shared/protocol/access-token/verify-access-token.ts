/**
 * Verifies access tokens. Accepts nothing that jose refuses; a test compares the two.
 *
 * The verification is our own and synchronous. jose was measured in its place (`npm run bench -- verify`; CPU time,
 * Node.js 20, two cores that other work shared; `bench/README.md` has all runs):
 *
 * - One token that is not cached: 76 to 84 µs here, 265 to 289 µs by jose's `jwtVerify` with the same schema of claims,
 *   180 to 198 µs when 32 are verified at once.
 * - A GET of one deal with such a token: jose adds 106 to 128 µs of CPU time, which was 15 to 33 %. The limit for using
 *   jose was 3 %.
 * - Beside Argon2id hashes: jose uses libuv's thread pool, which has four threads. With four hashes at once, its p99
 *   was 236 to 850 ms; here it was 0.8 to 6.6 ms. With fewer hashes, other work on the machine blurs the figures.
 *
 * So jose costs too much on deal servers, and it waits on every server whose `HASH_CONCURRENCY` is four or more.
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

/** The public keys that tokens are verified with. */
export interface VerificationKeys {
  /** The RSA public key with this `kid`; undefined when it is unknown or was removed. Answers at once, from memory. */
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

/** The expected values of a token, and the keys. */
export interface AccessTokenExpectations {
  readonly keys: VerificationKeys
  /** The claim `iss` must equal this. */
  readonly issuer: string
  /** The claim `aud` must be this or contain it. */
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
