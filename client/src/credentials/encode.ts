/** Encodings and digests by WebCrypto, which is there in secure contexts: HTTPS, or this machine. */
import type { Bytes } from './credential.ts'

/** A text in UTF-8. */
export const utf8 = (text: string): Bytes => new TextEncoder().encode(text)

/** Bytes in lower-case hexadecimal. Two of them sort as their octets do. */
export const hex = (bytes: Bytes): string => [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('')

/** Bytes in base64. */
export const base64 = (bytes: Bytes): string => btoa(String.fromCharCode(...bytes))

/** The SHA-256 of bytes, or of a text in UTF-8. */
export const sha256 = async (data: Bytes | string): Promise<Bytes> =>
  new Uint8Array(await crypto.subtle.digest('SHA-256', typeof data === 'string' ? utf8(data) : data))
