/** Authenticated encryption of texts: AES-256-GCM (NIST SP 800-38D) with a random nonce for each text. */
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'

const algorithm = 'aes-256-gcm'
const nonceBytes = 12
const tagBytes = 16

/** The key and the use of a sealed text. The text opens only with both. */
export interface SealContext {
  /** 32 bytes. */
  readonly key: Buffer
  /**
   * Names the use, so that a sealed text cannot stand in for another one. It is authenticated and not part of the
   * result.
   */
  readonly associatedData: string
}

/** Encrypts `text`. The result is the nonce (12 bytes), the ciphertext and the tag (16 bytes). */
export function seal(text: string, { key, associatedData }: SealContext): Buffer {
  const nonce = randomBytes(nonceBytes)
  const cipher = createCipheriv(algorithm, key, nonce).setAAD(Buffer.from(associatedData))
  return Buffer.concat([nonce, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()])
}

/**
 * Decrypts the result of `seal`. Answers undefined when it was changed, or sealed with another key or for another use.
 */
export function unseal(sealed: Buffer, { key, associatedData }: SealContext): string | undefined {
  if (sealed.length < nonceBytes + tagBytes) return undefined
  const nonce = sealed.subarray(0, nonceBytes)
  const decipher = createDecipheriv(algorithm, key, nonce, { authTagLength: tagBytes })
  decipher.setAAD(Buffer.from(associatedData)).setAuthTag(sealed.subarray(-tagBytes))
  try {
    return decipher.update(sealed.subarray(nonceBytes, -tagBytes), undefined, 'utf8') + decipher.final('utf8')
  } catch {
    return undefined
  }
}
