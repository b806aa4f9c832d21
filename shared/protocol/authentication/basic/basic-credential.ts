/** A user name and password as presented. */
export interface BasicCredential {
  readonly username: string
  /** In NFC, the form in which passwords are kept. */
  readonly password: string
}

/** Room for 64 characters of a name and 1 024 bytes of a password, however they are composed. */
const maxLength = 8192

/**
 * The user-id and password of a Basic credential (RFC 7617 §2): strict base64 (RFC 4648 §4, padded), strict UTF-8, split at the first
 * colon, no control characters. Undefined for anything else.
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
