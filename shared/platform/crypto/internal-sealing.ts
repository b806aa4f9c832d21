/**
 * Encrypts what the two servers tell each other at `/internal` and must stay secret even where nothing but
 * SERVICE_SECRET protects the way: AES-256-GCM under a key derived from it (HKDF-SHA256, RFC 5869). Opens only for the
 * purpose it was sealed for.
 */
import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto'

const nonceBytes = 12
const tagBytes = 16

const keyOf = (secret: string) => Buffer.from(hkdfSync('sha256', secret, '', 'keyhold internal sealing', 32))

/** The sealed form of `text` (base64url). */
export function sealInternally(text: string, { secret, purpose }: { secret: string; purpose: string }): string {
  const nonce = randomBytes(nonceBytes)
  const cipher = createCipheriv('aes-256-gcm', keyOf(secret), nonce).setAAD(Buffer.from(purpose))
  return Buffer.concat([nonce, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()]).toString('base64url')
}

/** The text; undefined when it was changed, sealed for another purpose, or under none of these secrets. */
export function openInternally(
  sealed: string,
  { secrets, purpose }: { secrets: readonly string[]; purpose: string },
): string | undefined {
  const bytes = Buffer.from(sealed, 'base64url')
  if (bytes.length < nonceBytes + tagBytes) return undefined
  for (const secret of secrets) {
    const options = { authTagLength: tagBytes }
    const decipher = createDecipheriv('aes-256-gcm', keyOf(secret), bytes.subarray(0, nonceBytes), options)
    decipher.setAAD(Buffer.from(purpose)).setAuthTag(bytes.subarray(-tagBytes))
    try {
      return decipher.update(bytes.subarray(nonceBytes, -tagBytes), undefined, 'utf8') + decipher.final('utf8')
    } catch {
      // Sealed under another of the secrets, or not at all.
    }
  }
  return undefined
}
