import { hash, randomBytes } from 'node:crypto'

/**
 * A hash under a key that lives and dies with this process: under it, tables in memory name secrets without holding them. SHA-256 of key and
 * parts: what HMAC adds (RFC 2104) is for digests that others see and could extend, and would cost seven times as much. No two lists of
 * parts are one text, since each part's length stands before it.
 */
export function createKeyedHash(): (...parts: readonly string[]) => string {
  const key = randomBytes(32).toString('hex')
  return (...parts) => {
    let text = key
    for (const part of parts) text += `${part.length}:${part}`
    return hash('sha256', text, 'base64url')
  }
}
