/**
 * The proof that a response at `/internal` comes from the auth server and belongs to this request: HMAC-SHA256 over the
 * nonce of the request, the status, the header fields that deal servers use and the body, under a key derived from
 * SERVICE_SECRET (HKDF-SHA256, RFC 5869). Both servers use this file.
 */
import { createHash, createHmac, timingSafeEqual } from 'node:crypto'
import { createMemo } from '../../platform/cache/memo.ts'
import { deriveKey } from '../../platform/crypto/derive-key.ts'

/** The header field that carries the MAC, in base64url. */
export const internalMacHeader = 'keyhold-internal-mac'

/** The header field of every answer that says which keys are published (`tokens/key-set.ts`). */
export const keySetHeader = 'keyhold-keys'

/** The header field of answers that says which instance they are true of. */
export const instanceHeader = 'keyhold-installation'

/** The parts of a response that the MAC covers. */
export interface InternalResponseFacts {
  readonly status: number
  readonly body: string
  /** The value of a header field; null when the response has none. */
  header(name: string): string | null
}

/** The request that a response belongs to. */
export interface AnsweredInternalRequest {
  /** SERVICE_SECRET: the one that signed the request. */
  readonly secret: string
  readonly nonce: string
}

/** The header fields that deal servers use. */
const provedHeaders = [instanceHeader, keySetHeader] as const

/** Derived keys, one for each service secret: deriving one takes longer than the rest of the proof. */
const keys = createMemo<Buffer>({ maxEntries: 16, maxBytes: 64_000 })

const derive = (secret: string): Buffer => deriveKey(secret, 'internal answers')

/** The MAC of a response. */
export const macOfInternalResponse = (answer: InternalResponseFacts, of: AnsweredInternalRequest): string =>
  digestOf(answer, of).toString('base64url')

/** True when the response carries the right MAC for itself and this request. */
export function isInternalResponse(answer: InternalResponseFacts, of: AnsweredInternalRequest): boolean {
  const sent = Buffer.from(answer.header(internalMacHeader) ?? '', 'base64url')
  const expected = digestOf(answer, of)
  return sent.length === expected.length && timingSafeEqual(sent, expected)
}

function digestOf({ status, body, header }: InternalResponseFacts, { secret, nonce }: AnsweredInternalRequest): Buffer {
  const bodyDigest = createHash('sha256').update(body).digest('base64url')
  const fields = provedHeaders.map((name) => header(name) ?? '')
  const text = ['keyhold-internal-answer-1', nonce, String(status), ...fields, bodyDigest].join('\n')
  return createHmac('sha256', keys.get(secret, derive)).update(text).digest()
}
