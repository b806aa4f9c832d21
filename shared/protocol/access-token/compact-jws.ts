/**
 * Takes a JWS in Compact Serialization apart (RFC 7515 §7.1), strictly: what two parsers could read differently is refused.
 */
import { type KeyObject, verify } from 'node:crypto'

/** A JWS whose form is right; nothing of it is verified. */
export interface CompactJws {
  readonly header: Readonly<Record<string, unknown>>
  /** The octets that are signed (RFC 7515 §2, JWS Signing Input). */
  readonly signingInput: Buffer
  readonly payload: Buffer
  readonly signature: Buffer
}

/** Members that would make a verifier fetch or trust a key of the token's choosing, or read the payload in another way. */
const foreignMembers = ['crit', 'b64', 'jku', 'x5u', 'jwk', 'x5c', 'zip', 'enc', 'cty']

/** True for a header that no verifier here accepts, whatever its signature (RFC 8725 §3.5, §3.10). */
export const namesForeignKey = (header: CompactJws['header']): boolean =>
  foreignMembers.some((member) => Object.hasOwn(header, member))

/** The JWS of this text, or a sentence that says what is wrong with its form. */
export function parseCompactJws(text: string): CompactJws | string {
  const parts = text.split('.', 4)
  const [headerPart, payloadPart, signaturePart] = parts
  if (parts.length !== 3 || !headerPart || !payloadPart || !signaturePart) return 'not three parts'
  const [header, payload, signature] = [decode(headerPart), decode(payloadPart), decode(signaturePart)]
  if (!header || !payload || !signature) return 'not base64url'
  const parsedHeader = parseJsonObject(header)
  if (!parsedHeader) return 'header is not a JSON object'
  const signingInput = Buffer.from(text.slice(0, headerPart.length + 1 + payloadPart.length), 'latin1')
  return { header: parsedHeader, signingInput, payload, signature }
}

/**
 * True when this RSA key made the signature with RS256 (RFC 7518 §3.3), and the header says so. A key of another kind would make RS256
 * mean something else: such a key verifies nothing.
 */
export const isSignedRs256 = ({ header, signingInput, signature }: CompactJws, key: KeyObject): boolean =>
  header.alg === 'RS256' &&
  !namesForeignKey(header) &&
  key.asymmetricKeyType === 'rsa' &&
  verify('RSA-SHA256', signingInput, key, signature)

/** Base64url without padding (RFC 7515 §2), in the one spelling that encoding gives; undefined for anything else. */
function decode(part: string): Buffer | undefined {
  const bytes = Buffer.from(part, 'base64url')
  return bytes.toString('base64url') === part ? bytes : undefined
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** The JSON object in these octets; undefined when they are not UTF-8, not JSON or not an object. */
export function parseJsonObject(bytes: Uint8Array): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(utf8.decode(bytes))
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : undefined
  } catch {
    return undefined
  }
}
