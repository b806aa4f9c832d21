import { hkdfSync } from 'node:crypto'

/**
 * A key of 32 bytes for one purpose, derived from a secret that has several uses (HKDF-SHA256 without salt, RFC 5869).
 * Keys of different purposes reveal nothing about each other. What was written under a key can be read only while its
 * purpose keeps the same text.
 */
export const deriveKey = (secret: string | Buffer, purpose: string): Buffer =>
  Buffer.from(hkdfSync('sha256', secret, '', `keyhold ${purpose}`, 32))
