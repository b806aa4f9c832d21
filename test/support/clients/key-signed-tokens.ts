/** Makes blocks and tokens that no issuer would make, for tests of those who read them. */
import { constants, createHash, type KeyObject, privateEncrypt } from 'node:crypto'
import {
  encodeKeySignedPayload,
  type KeySignedClaims,
} from '../../../shared/protocol/key-signed-token/key-signed-payload.ts'
import { formatKeySignedToken } from '../../../shared/protocol/key-signed-token/key-signed-token.ts'

/** A key pair under its kid. */
export interface TokenKey {
  readonly kid: string
  readonly privateKey: KeyObject
}

/** Any octets up to the modulus less 11, encrypted with the private key: PKCS#1 v1.5, block type 1. */
export const blockOf = (key: KeyObject, octets: Uint8Array): Buffer =>
  privateEncrypt({ key, padding: constants.RSA_PKCS1_PADDING }, octets)

/** The token whose payload is these octets. */
export const tokenOf = ({ kid, privateKey }: TokenKey, octets: Uint8Array): string =>
  formatKeySignedToken({ kid, block: blockOf(privateKey, octets) })

/** The token that says this. */
export const tokenSaying = (key: TokenKey, claims: KeySignedClaims): string =>
  tokenOf(key, encodeKeySignedPayload(claims))

/** A payload's octets without its digest, with the right digest behind them. */
export const withDigest = (body: Uint8Array): Buffer =>
  Buffer.concat([body, createHash('sha256').update(body).digest()])

/** The part of a payload that the digest covers. */
export const bodyOf = (payload: Buffer): Buffer => payload.subarray(0, -32)
