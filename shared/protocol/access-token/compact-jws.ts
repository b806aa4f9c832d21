/**
 * Reads a JWS in Compact Serialization (RFC 7515 §7.1) and verifies RS256 signatures. Reading is strict: a text that
 * two parsers could read differently is refused. `verify-access-token.ts` has the measurement that decided against
 * jose.
 */
import { type KeyObject, verify } from 'node:crypto'

/** A well-formed JWS. Its signature is not verified yet. */
export interface CompactJws {
  readonly header: Readonly<Record<string, unknown>>
  /** The octets that are signed (RFC 7515 §2, JWS Signing Input). */
  readonly signingInput: Buffer
  readonly payload: Buffer
  readonly signature: Buffer
}

/** Header members that let a token choose its own key, or that change how its payload is read. */
const foreignMembers = ['crit', 'b64', 'jku', 'x5u', 'jwk', 'x5c', 'zip', 'enc', 'cty']

/** True for a header with such a member. No verifier here accepts it, whatever its signature (RFC 8725 §3.5, §3.10). */
export const namesForeignKey = (header: CompactJws['header']): boolean =>
  foreignMembers.some((member) => Object.hasOwn(header, member))

/** The JWS in this text, or a phrase that says what is wrong with its form. */
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
 * True when this RSA key made the signature with RS256 (RFC 7518 §3.3) and the header says so. With a key of another
 * type, RS256 would mean something else, so such a key verifies nothing.
 */
export const isSignedRs256 = ({ header, signingInput, signature }: CompactJws, key: KeyObject): boolean =>
  header.alg === 'RS256' &&
  !namesForeignKey(header) &&
  key.asymmetricKeyType === 'rsa' &&
  verify('RSA-SHA256', signingInput, key, signature)

/**
 * Decodes base64url without padding (RFC 7515 §2). Undefined unless the text is exactly what encoding the bytes gives.
 */
function decode(part: string): Buffer | undefined {
  const bytes = Buffer.from(part, 'base64url')
  return bytes.toString('base64url') === part ? bytes : undefined
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** The JSON object in these octets; undefined unless they are UTF-8, JSON and an object. */
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
