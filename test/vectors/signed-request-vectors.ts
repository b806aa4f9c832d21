import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** A key as its client holds it, with what the servers hold of kind rsa. */
export interface VectorKey {
  readonly id: string
  readonly kind: 'hmac' | 'rsa'
  readonly requireBodyHash: boolean
  readonly secret?: string
  readonly privateKeyPem?: string
  readonly publicKeyPem?: string
}

/** A request, what was signed of it, and what happens to it. */
export interface SignedRequestVector {
  readonly name: string
  readonly method: string
  /** As on the request line. */
  readonly target: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | null
  readonly signed: string
  /** `accepted`, or the code of the refusal. */
  readonly outcome: string
}

export interface SignedRequestVectors {
  readonly description: string
  /** The time of the server, in seconds since 1970. */
  readonly now: number
  readonly ttlSeconds: number
  /** Where clients see the server. */
  readonly origin: string
  /** The audience of the server. */
  readonly audience: string
  readonly keys: readonly VectorKey[]
  readonly vectors: readonly SignedRequestVector[]
}

/** The vectors in `signed-requests.json`. */
export const readSignedRequestVectors = (): SignedRequestVectors =>
  JSON.parse(readFileSync(join(import.meta.dirname, 'signed-requests.json'), 'utf8'))
