/** The signature of a request, in either form, and the refusals of signatures. */

import type { HttpRequest } from '../../../platform/http/request.ts'
import { ProblemError } from '../../../platform/problems/errors.ts'
import type { SigningKey } from './signing-key.ts'

/** A signature that was read but not verified. */
export interface ReceivedSignature {
  readonly keyId: string
  /** Unix seconds. */
  readonly signedAt: number
  /** Unix seconds: an expiry that the signer chose. */
  readonly expiresAt?: number | undefined
  /** The kind of key that the signature names, if it names one. */
  readonly kind?: SigningKey['kind'] | undefined
  readonly signature: Buffer
  /** The octets that were signed. */
  readonly signed: Buffer
  /** The names of the header fields that it covers, in lower case. */
  readonly fields: readonly string[]
  /** True when the signature covers the body. */
  readonly bindsBody: boolean
  /** True when the signature covers the method. */
  readonly bindsMethod: boolean
  /** True when the signature says which service it is for. */
  readonly bindsAudience: boolean
  /** The name of a claim about the request that is not true; undefined when all claims are true. */
  falseClaim(): Promise<string | undefined> | string | undefined
}

/** Reads the signature of a request. @throws ProblemError `invalid-signature` and codes with status 400 */
export type ReadSignature = (
  request: HttpRequest,
  own: { readonly audience: string; readonly publicOrigin: string },
) => Promise<ReceivedSignature> | ReceivedSignature

/** True when a request has a body. It is read only where its length is not declared. */
export async function hasBody(request: HttpRequest): Promise<boolean> {
  const length = request.header('content-length')
  return length === undefined ? (await request.readBody()).length > 0 : Number(length) > 0
}

/** The refusal of a signature that does not cover the body. It names the method too, where that is not covered. */
export function bodyHashRequired({ bindsMethod }: Pick<ReceivedSignature, 'bindsMethod'>) {
  const missing = bindsMethod
    ? 'the body too: bodySha256 in the query, or Content-Digest (RFC 9530)'
    : 'the method and the body too: method and bodySha256 in the query'
  const message = `Sign ${missing}. A key that was made with requireBodyHash: false need not.`
  return new ProblemError('body-hash-required', message)
}

/** The refusal of a signature that does not cover the method. */
export const methodRequired = () =>
  new ProblemError('signature-method-required', 'Sign the method too: method in the query, or @method (RFC 9421).')

/** The refusal of a signature that does not say which service it is for. */
export const audienceRequired = () =>
  new ProblemError(
    'signature-audience-required',
    'Sign the audience too: audience in the query, with the audience or the origin of this service, or @authority (RFC 9421).',
  )

/** The refusal for any other reason. */
export const invalidSignature = (reason: string) =>
  new ProblemError('invalid-signature', `The signature is not accepted: ${reason}.`)
