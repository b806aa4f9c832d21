/**
 * Reads the header of a JWS before jose verifies it. Reading is strict: jose accepts some texts in several spellings,
 * and header members that no verifier here needs.
 */
import { decodeProtectedHeader, type JWSHeaderParameters } from 'jose'

/** Header members that let a token choose its own key, or that change how its payload is read. */
const foreignMembers = ['crit', 'b64', 'jku', 'x5u', 'jwk', 'x5c', 'zip', 'enc', 'cty']

/** How a part with a byte order mark begins. jose skips the mark, but no JSON text has one (RFC 8259 §8.1). */
const byteOrderMark = Buffer.from('\ufeff').toString('base64url')

/** True for a header with such a member. No verifier here accepts it, whatever its signature (RFC 8725 §3.5, §3.10). */
export const namesForeignKey = (header: JWSHeaderParameters): boolean =>
  foreignMembers.some((member) => Object.hasOwn(header, member))

/**
 * The header of a JWS in Compact Serialization (RFC 7515 §7.1), or a phrase that says what is wrong with its form.
 * Nothing is verified yet.
 */
export function readJwsHeader(text: string): JWSHeaderParameters | string {
  const parts = text.split('.', 4)
  if (parts.length !== 3 || parts.includes('')) return 'not three parts'
  if (!parts.every(isBase64url)) return 'not base64url'
  if (parts[0]?.startsWith(byteOrderMark) || parts[1]?.startsWith(byteOrderMark)) return 'a byte order mark before JSON'
  try {
    return decodeProtectedHeader(text)
  } catch {
    return 'header is not a JSON object'
  }
}

/** True for base64url without padding (RFC 7515 §2) in the one spelling that encoding the bytes gives. */
const isBase64url = (part: string): boolean => Buffer.from(part, 'base64url').toString('base64url') === part
