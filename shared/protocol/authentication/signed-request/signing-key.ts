/** API keys as signed requests are verified with them, on either server. */
import { createHmac, createPublicKey, createSecretKey, type KeyObject, timingSafeEqual, verify } from 'node:crypto'

/** A key that is neither revoked nor, when it was read, expired. */
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
  /** All that it may do of what its owner may; null: everything. */
  readonly rights: readonly string[] | null
  /** In milliseconds. */
  readonly expiresAt: number | null
}

/** A key as the database or the auth server tell of it. */
export interface StoredSigningKey extends Omit<SigningKey, 'key'> {
  /** Of kind `hmac`. */
  readonly secret: string | null
  /** SPKI PEM, of kind `rsa`. */
  readonly publicKeyPem: string | null
}

/** What a request is verified with. @throws TypeError for a key without its material */
export function signingKeyOf({ secret, publicKeyPem, ...facts }: StoredSigningKey): SigningKey {
  if (facts.kind === 'hmac' && secret !== null) {
    // The characters as they were shown, not what they encode: what `openssl dgst -hmac` takes.
    return { ...facts, key: createSecretKey(Buffer.from(secret)) }
  }
  if (facts.kind === 'rsa' && publicKeyPem !== null) return { ...facts, key: createPublicKey(publicKeyPem) }
  throw new TypeError('an API key lacks what it verifies with')
}

const macBytes = 32

const nobodysSecret = createSecretKey(Buffer.from('no API key has this secret'))
/** An odd number of 2048 bits: nobody knows its factors. */
const nobodysModulus = createHmac('sha512', 'nobody').update('modulus').digest('hex').repeat(4).replace(/.$/, 'f')
const nobodysPublicKey = createPublicKey({
  key: { kty: 'RSA', n: Buffer.from(nobodysModulus.replace(/^./, 'f'), 'hex').toString('base64url'), e: 'AQAB' },
  format: 'jwk',
})

/**
 * True when `signature` is the key's over `signed`: HMAC-SHA256, or RSA-SHA256 (RSASSA-PKCS1-v1_5, RFC 8017 §8.2). Takes as long for a key
 * that is not there or of the other kind: what is computed hangs on the length of the signature alone.
 */
export function isSignedBy(key: SigningKey | undefined, signed: Buffer, signature: Buffer): boolean {
  if (signature.length === macBytes) {
    const isHmac = key?.kind === 'hmac'
    const expected = createHmac('sha256', isHmac ? key.key : nobodysSecret)
      .update(signed)
      .digest()
    return timingSafeEqual(expected, signature) && isHmac
  }
  const isRsa = key?.kind === 'rsa'
  return verify('sha256', signed, isRsa ? key.key : nobodysPublicKey, signature) && isRsa
}
