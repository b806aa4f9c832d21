/** The user name and password in a request. */
export interface BasicCredential {
  readonly username: string
  /** In NFC, the form that is hashed. */
  readonly password: string
}

/**
 * The longest credential, in characters: room for a name of 64 characters and a password of 1 024 bytes, however the
 * characters are composed.
 */
const maxLength = 8192

/**
 * Reads a Basic credential (RFC 7617 §2): strict base64 (RFC 4648 §4, padded), strict UTF-8, split at the first colon,
 * no control characters. Undefined for any other text.
 */
export function parseBasicCredential(text: string): BasicCredential | undefined {
  if (text.length > maxLength || !/^[A-Za-z0-9+/]+={0,2}$/.test(text)) return undefined
  const bytes = Buffer.from(text, 'base64')
  if (bytes.toString('base64') !== text) return undefined
  const decoded = decodeUtf8(bytes)?.normalize('NFC')
  const colon = decoded?.indexOf(':') ?? -1
  if (decoded === undefined || colon < 0 || /\p{Cc}/u.test(decoded)) return undefined
  return { username: decoded.slice(0, colon), password: decoded.slice(colon + 1) }
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

function decodeUtf8(bytes: Uint8Array): string | undefined {
  try {
    return utf8.decode(bytes)
  } catch {
    return undefined
  }
}
