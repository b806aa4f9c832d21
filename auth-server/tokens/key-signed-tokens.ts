/** Issues key-signed tokens (docs/contract.md#key-signed-token). What is in one, and how it is verified, both servers share: `shared/protocol/`. */
import type { KeyObject } from 'node:crypto'
import NodeRSA from 'node-rsa'
import {
  encodeKeySignedPayload,
  type KeySignedClaims,
} from '../../shared/protocol/key-signed-token/key-signed-payload.ts'
import { formatKeySignedToken } from '../../shared/protocol/key-signed-token/key-signed-token.ts'

/** The private key that makes tokens now. */
export interface KeySignedSigningKeys {
  signingKey(use: 'key-signed'): { readonly kid: string; readonly privateKey: KeyObject }
}

/** Issues one token. @throws RangeError for claims that no token can have */
export type IssueKeySignedToken = (claims: KeySignedClaims) => { readonly token: string; readonly kid: string }

/** An issuer of key-signed tokens. */
export function createKeySignedIssuer(keys: KeySignedSigningKeys): IssueKeySignedToken {
  const imported = new WeakMap<KeyObject, NodeRSA>()
  return (claims) => {
    const { kid, privateKey } = keys.signingKey('key-signed')
    const key = imported.get(privateKey) ?? importKey(privateKey)
    imported.set(privateKey, key)
    // One block: the payload is shorter than any modulus, which node-rsa would otherwise cut it to.
    const block = Buffer.from(key.encryptPrivate(encodeKeySignedPayload(claims), 'buffer'))
    return { token: formatKeySignedToken({ kid, block }), kid }
  }
}

/** node-rsa's default scheme is another one, and slow. */
const importKey = (privateKey: KeyObject): NodeRSA =>
  new NodeRSA(privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(), 'pkcs8-private-pem', {
    encryptionScheme: 'pkcs1',
  })
