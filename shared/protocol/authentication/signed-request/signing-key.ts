/** API keys in the form with which both servers verify signed requests. */
import { createHmac, createPublicKey, createSecretKey, type KeyObject, timingSafeEqual, verify } from 'node:crypto'

/** A key that was neither revoked nor expired when it was read. */
export interface SigningKey {
  readonly id: string
  readonly kind: 'hmac' | 'rsa'
  /** The secret, or the public key. */
  readonly key: KeyObject
  readonly username: string
  readonly userId: string
  /** The version of the owner's principal record in the same snapshot of the database. */
  readonly version: number
  readonly requireBodyHash: boolean
  /** The rights that it is narrowed to; null: all rights of its owner. */
  readonly rights: readonly string[] | null
  /** In milliseconds since the epoch; null: never. */
  readonly expiresAt: number | null
}

/** A key as the database or the auth server describes it. */
export interface StoredSigningKey extends Omit<SigningKey, 'key'> {
  /** For kind `hmac`. */
  readonly secret: string | null
  /** For kind `rsa`: SPKI PEM. */
  readonly publicKeyPem: string | null
}

/** The key for verifying requests. @throws TypeError for a key without its material */
export function signingKeyOf({ secret, publicKeyPem, ...facts }: StoredSigningKey): SigningKey {
  if (facts.kind === 'hmac' && secret !== null) {
    // The secret's characters as the user saw them, not the bytes that they encode: `openssl dgst -hmac` takes these.
    return { ...facts, key: createSecretKey(Buffer.from(secret)) }
  }
  if (facts.kind === 'rsa' && publicKeyPem !== null) return { ...facts, key: createPublicKey(publicKeyPem) }
  throw new TypeError('an API key lacks what it verifies with')
}

const macBytes = 32

const dummySecret = createSecretKey(Buffer.from('no API key has this secret'))
/** An odd number of 2048 bits with unknown factors. */
const dummyModulus = createHmac('sha512', 'nobody').update('modulus').digest('hex').repeat(4).replace(/.$/, 'f')
const dummyPublicKey = createPublicKey({
  key: { kty: 'RSA', n: Buffer.from(dummyModulus.replace(/^./, 'f'), 'hex').toString('base64url'), e: 'AQAB' },
  format: 'jwk',
})

/**
 * True when `signature` is the key's signature of `signed`: HMAC-SHA256, or RSA-SHA256 (RSASSA-PKCS1-v1_5, RFC 8017
 * §8.2). An absent key, or one of the other kind, takes the same time: the computation depends only on the length of
 * the signature.
 */
export function isSignedBy(key: SigningKey | undefined, signed: Buffer, signature: Buffer): boolean {
  if (signature.length === macBytes) {
    const isHmac = key?.kind === 'hmac'
    const expected = createHmac('sha256', isHmac ? key.key : dummySecret)
      .update(signed)
      .digest()
    return timingSafeEqual(expected, signature) && isHmac
  }
  const isRsa = key?.kind === 'rsa'
  return verify('sha256', signed, isRsa ? key.key : dummyPublicKey, signature) && isRsa
}
