/**
 * Verifies key-signed tokens: recovers the payload with the public key (RFC 8017 §7.2 with block type 1), then reads
 * it. Every failure gives the same verdict.
 */

import { constants, type KeyObject, publicDecrypt } from 'node:crypto'
import { type Clock, unixSeconds } from '../../platform/clock.ts'
import type { VerificationKeys } from '../access-token/verify-access-token.ts'
import { clockToleranceSeconds } from '../clock-tolerance.ts'
import { decodeKeySignedPayload, type KeySignedClaims } from './key-signed-payload.ts'
import { type ParsedKeySignedToken, parseKeySignedToken } from './key-signed-token.ts'

/** The result of a verification. */
export type KeySignedVerdict =
  | { readonly ok: true; readonly kid: string; readonly claims: KeySignedClaims }
  /** The token is valid except that it has expired. */
  | { readonly ok: false; readonly problem: 'token-expired'; readonly claims: KeySignedClaims }
  | {
      readonly ok: false
      readonly problem: 'invalid-token'
      /** Set when the key is unknown: it may have been published since the keys were loaded. */
      readonly unknownKid?: string
    }

interface KeySignedExpectations {
  /**
   * Keys of key-signed tokens only. A JWT signature and a key-signed token are the same RSA computation, so a key that
   * signs both kinds would let one pass for the other (docs/key-signed-token.md#text).
   */
  readonly keys: VerificationKeys
  readonly clock: Clock
}

/** Verifies one token, but not whether the request has its address and password. Never throws. */
export type VerifyKeySignedToken = (token: string) => KeySignedVerdict

/** A verifier of key-signed tokens. */
export function createKeySignedVerifier({ keys, clock }: KeySignedExpectations): VerifyKeySignedToken {
  return (token) => {
    const parsed = parseKeySignedToken(token)
    if (!parsed) return invalid
    const key = keys.key(parsed.kid)
    if (!key) return { ...invalid, unknownKid: parsed.kid }
    const payload = recover(key, parsed)
    const claims = payload && decodeKeySignedPayload(payload)
    const now = unixSeconds(clock.now())
    if (!claims || claims.iat > now + clockToleranceSeconds) return invalid
    if (claims.exp <= now) return { ok: false, problem: 'token-expired', claims }
    return { ok: true, kid: parsed.kid, claims }
  }
}

const invalid = { ok: false, problem: 'invalid-token' } as const

/** The payload of a block. A block that is not as long as the modulus is refused before any RSA computation. */
function recover(key: KeyObject, { block }: ParsedKeySignedToken): Buffer | undefined {
  const { modulusLength = 0, publicExponent } = key.asymmetricKeyDetails ?? {}
  const isUsable = key.asymmetricKeyType === 'rsa' && modulusLength >= 2048 && publicExponent === 65_537n
  if (!isUsable || block.length * 8 !== modulusLength) return undefined
  try {
    return publicDecrypt({ key, padding: constants.RSA_PKCS1_PADDING }, block)
  } catch {
    return undefined
  }
}
