import { hash, randomBytes } from 'node:crypto'

/**
 * A hash under a key that exists only in this process. Tables in memory use the hashes as keys, so that they do not
 * contain secrets. The hash is SHA-256 of key and parts. HMAC (RFC 2104) protects digests that others see and could
 * extend; it would cost seven times as much. No two lists of parts give the same text, since the length of each part
 * is before it.
 */
export function createKeyedHash(): (...parts: readonly string[]) => string {
  const key = randomBytes(32).toString('hex')
  return (...parts) => {
    let text = key
    for (const part of parts) text += `${part.length}:${part}`
    return hash('sha256', text, 'base64url')
  }
}
