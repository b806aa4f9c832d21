/** API keys in the form with which both servers verify signed requests. */
import { createHmac, createPublicKey, createSecretKey, type KeyObject, timingSafeEqual, verify } from 'node:crypto'

/** A key that was neither revoked nor expired when it was read. */
export interface SigningKey {
  readonly id: string
  readonly kind: 'hmac' | 'rsa'
  /** The secret, or the public key. Null for a secret that only the auth server has. */
  readonly key: KeyObject | null
  /** The one before the last rotation, while it is accepted too. `until` in milliseconds since the epoch. */
  readonly former: { readonly key: KeyObject | null; readonly until: number } | null
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
export interface StoredSigningKey extends Omit<SigningKey, 'key' | 'former'>, StoredMaterial {
  readonly former: (StoredMaterial & { readonly until: number }) | null
}

interface StoredMaterial {
  /** For kind `hmac`; null where only the auth server has it. */
  readonly secret: string | null
  /** For kind `rsa`: SPKI PEM. */
  readonly publicKeyPem: string | null
}

/** The key for verifying requests. @throws TypeError for a public key that is missing */
export function signingKeyOf({ secret, publicKeyPem, former, ...facts }: StoredSigningKey): SigningKey {
  return {
    ...facts,
    key: keyObjectOf(facts.kind, { secret, publicKeyPem }),
    former: former && { key: keyObjectOf(facts.kind, former), until: former.until },
  }
}

function keyObjectOf(kind: SigningKey['kind'], { secret, publicKeyPem }: StoredMaterial): KeyObject | null {
  // The secret's characters as the user saw them, not the bytes that they encode: `openssl dgst -hmac` takes these.
  if (kind === 'hmac') return secret === null ? null : createSecretKey(Buffer.from(secret))
  if (publicKeyPem !== null) return createPublicKey(publicKeyPem)
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

/** A signature, the octets that it signs, and the present time in milliseconds since the epoch. */
export interface SignedOctets {
  readonly signed: Buffer
  readonly signature: Buffer
  readonly now: number
}

/**
 * True when `signature` is the key's signature of `signed`: HMAC-SHA256, or RSA-SHA256 (RSASSA-PKCS1-v1_5, RFC 8017
 * §8.2); by the present material, or by the former one while it is accepted. An absent key, one of the other kind and
 * one without former material take the same time: the computation depends only on the length of the signature.
 */
export function isSignedBy(key: SigningKey | undefined, octets: SignedOctets): boolean {
  const former = key?.former && key.former.until > octets.now ? key.former.key : undefined
  return isMadeWith(key?.kind, key?.key, octets) || isMadeWith(key?.kind, former, octets)
}

function isMadeWith(
  kind: SigningKey['kind'] | undefined,
  key: KeyObject | null | undefined,
  { signed, signature }: SignedOctets,
): boolean {
  if (signature.length === macBytes) {
    const secret = kind === 'hmac' ? key : null
    const expected = createHmac('sha256', secret ?? dummySecret)
      .update(signed)
      .digest()
    return timingSafeEqual(expected, signature) && secret != null
  }
  const publicKey = kind === 'rsa' ? key : null
  return verify('sha256', signed, publicKey ?? dummyPublicKey, signature) && publicKey != null
}
