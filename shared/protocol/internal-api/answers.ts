/**
 * How the auth server proves to the deal server that an answer at `/internal` is its own, and to this very request:
 * HMAC-SHA256 over the request's nonce, the status, the header fields that mean something and the body, under a key
 * derived from SERVICE_SECRET (HKDF-SHA256, RFC 5869). Both sides use this one file.
 */
import { createHash, createHmac, timingSafeEqual } from 'node:crypto'
import { createBoundedCache } from '../../platform/cache/bounded-cache.ts'
import { deriveKey } from '../../platform/crypto/derive-key.ts'

/** The header field that carries the MAC, in base64url. */
export const internalMacHeader = 'keyhold-internal-mac'

/** The header field of every answer that says which keys are published (`tokens/key-set.ts`). */
export const keySetHeader = 'keyhold-keys'

/** The header field of answers about a principal that says which installation they are true of. */
export const installationHeader = 'keyhold-installation'

/** Of an answer, what is proved. */
export interface InternalAnswerFacts {
  readonly status: number
  readonly body: string
  /** The value of a header field; null when there is none. */
  header(name: string): string | null
}

/** What an answer belongs to. */
export interface AnsweredInternalRequest {
  /** SERVICE_SECRET, the one under which the request was signed. */
  readonly secret: string
  readonly nonce: string
}

/** The header fields that deal servers act upon. */
const provedHeaders = [installationHeader, keySetHeader] as const

/** Deriving a key takes longer than all the rest; there is one for each service secret. */
const keys = createBoundedCache<Buffer>({ maxEntries: 16, maxBytes: 64_000 })

function keyOf(secret: string): Buffer {
  const known = keys.get(secret)
  if (known) return known
  const key = deriveKey(secret, 'internal answers')
  keys.set(secret, key)
  return key
}

/** The MAC of an answer. */
export const macOfInternalAnswer = (answer: InternalAnswerFacts, of: AnsweredInternalRequest): string =>
  digestOf(answer, of).toString('base64url')

/** True when the answer carries the MAC that belongs to it and to this request. */
export function isInternalAnswer(answer: InternalAnswerFacts, of: AnsweredInternalRequest): boolean {
  const presented = Buffer.from(answer.header(internalMacHeader) ?? '', 'base64url')
  const expected = digestOf(answer, of)
  return presented.length === expected.length && timingSafeEqual(presented, expected)
}

function digestOf({ status, body, header }: InternalAnswerFacts, { secret, nonce }: AnsweredInternalRequest): Buffer {
  const bodyDigest = createHash('sha256').update(body).digest('base64url')
  const fields = provedHeaders.map((name) => header(name) ?? '')
  const text = ['keyhold-internal-answer-1', nonce, String(status), ...fields, bodyDigest].join('\n')
  return createHmac('sha256', keyOf(secret)).update(text).digest()
}
