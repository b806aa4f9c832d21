/**
 * Verifies key-signed tokens: recovers the payload with the public key (RFC 8017 §7.2 with block type 1), then reads it. Whatever is
 * wrong, the verdict is one and the same.
 */

import { constants, type KeyObject, publicDecrypt } from 'node:crypto'
import { type Clock, unixSeconds } from '../../platform/clock.ts'
import type { VerificationKeys } from '../access-token/verify-access-token.ts'
import { clockToleranceSeconds } from '../clock-tolerance.ts'
import { decodeKeySignedPayload, type KeySignedClaims } from './key-signed-payload.ts'
import { type ParsedKeySignedToken, parseKeySignedToken } from './key-signed-token.ts'

/** What verification found. */
export type KeySignedVerdict =
  | { readonly ok: true; readonly kid: string; readonly claims: KeySignedClaims }
  /** Everything is right but its time is over. */
  | { readonly ok: false; readonly problem: 'token-expired'; readonly claims: KeySignedClaims }
  | {
      readonly ok: false
      readonly problem: 'invalid-token'
      /** Set when its key is not known (yet): fetching keys may help. */
      readonly unknownKid?: string
    }

/** What a token is checked against. */
export interface KeySignedExpectations {
  /** Keys of key-signed tokens alone: none of them may ever sign JWTs (`notes/protocol.md`, "Key-signed tokens"). */
  readonly keys: VerificationKeys
  readonly clock: Clock
}

/** Verifies one token, not yet whether its address and password are those of the request. Never throws. */
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

/** The payload of a block that has exactly the length of the modulus; another length is refused before any RSA work. */
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
