import { type KeyObject, sign } from 'node:crypto'
import { promisify } from 'node:util'

const signAsync = promisify(sign)

/** What is hashed before the signature; EdDSA hashes by itself. */
const digests: Readonly<Record<string, string>> = { RS256: 'sha256', ES256: 'sha256' }

/** An active key. */
export interface SigningKey {
  readonly kid: string
  readonly alg: string
  readonly privateKey: KeyObject
}

/**
 * Signs a JWT in the compact form (RFC 7515 §3.1, RFC 7519), in libuv's thread pool. jose verifies it. The way from the
 * claims to the thread and back takes 17 µs of the main thread here, and 38 by `SignJWT` of jose, which asks WebCrypto;
 * the signature of RS256 itself takes 255 (docs/decisions/jose.md).
 */
export async function signJwt(claims: object, typ: string, { kid, alg, privateKey }: SigningKey): Promise<string> {
  const input = `${encode({ alg, typ, kid })}.${encode(claims)}`
  const signature = await signAsync(digests[alg], Buffer.from(input), { key: privateKey, dsaEncoding: 'ieee-p1363' })
  return `${input}.${signature.toString('base64url')}`
}

const encode = (members: object): string => Buffer.from(JSON.stringify(members)).toString('base64url')
