/**
 * Issues key-signed tokens (docs/contract/callers.md#key-signed-token). `shared/protocol/key-signed-token/` has their
 * payload and their verification.
 */
import type { KeyObject } from 'node:crypto'
import NodeRSA from 'node-rsa'
import {
  encodeKeySignedPayload,
  type KeySignedClaims,
} from '../../shared/protocol/key-signed-token/key-signed-payload.ts'
import { formatKeySignedToken } from '../../shared/protocol/key-signed-token/key-signed-token.ts'

/** The source of the private key that makes tokens now. */
export interface KeySignedSigningKeys {
  signingKey(use: 'key-signed'): { readonly kid: string; readonly privateKey: KeyObject }
}

/** Issues one token. @throws RangeError for claims that do not fit into a token */
export type IssueKeySignedToken = (claims: KeySignedClaims) => { readonly token: string; readonly kid: string }

/** Creates the issuer of key-signed tokens. */
export function createKeySignedIssuer(keys: KeySignedSigningKeys): IssueKeySignedToken {
  const imported = new WeakMap<KeyObject, NodeRSA>()
  return (claims) => {
    const { kid, privateKey } = keys.signingKey('key-signed')
    const key = imported.get(privateKey) ?? importKey(privateKey)
    imported.set(privateKey, key)
    // One block, because the payload is shorter than any modulus. node-rsa splits a longer text into several blocks.
    const block = Buffer.from(key.encryptPrivate(encodeKeySignedPayload(claims), 'buffer'))
    return { token: formatKeySignedToken({ kid, block }), kid }
  }
}

/** Imports a key with the scheme PKCS #1 v1.5. The default scheme of node-rsa is another one, and slow. */
const importKey = (privateKey: KeyObject): NodeRSA =>
  new NodeRSA(privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(), 'pkcs8-private-pem', {
    encryptionScheme: 'pkcs1',
  })
