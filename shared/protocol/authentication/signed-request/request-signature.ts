/** A signature as it stands in a request, whichever form it has, and how signatures are refused. */

import type { HttpCall } from '../../../platform/http/call.ts'
import { Refused } from '../../../platform/problems/errors.ts'
import type { SigningKey } from './signing-key.ts'

/** A signature as presented, read and not verified. */
export interface PresentedSignature {
  readonly keyId: string
  /** Unix seconds. */
  readonly signedAt: number
  /** Unix seconds: the signer's own limit. */
  readonly expiresAt?: number | undefined
  /** The kind of key that the signature says it is made with, if it does. */
  readonly kind?: SigningKey['kind'] | undefined
  readonly signature: Buffer
  /** What was signed. */
  readonly signed: Buffer
  /** What the signature binds of the request, and what it says of it that is not so. */
  readonly bindsBody: boolean
  readonly bindsMethod: boolean
  falseClaim(): Promise<string | undefined> | string | undefined
}

/** @throws Refused `invalid-signature` for what has not the form, and others of 400 */
export type ReadSignature = (
  call: HttpCall,
  ports: { readonly publicOrigin: string },
) => Promise<PresentedSignature> | PresentedSignature

/** The refusal of a signature that leaves the body open. */
export const bodyHashRequired = () =>
  new Refused('body-hash-required', 'Sign the body too: bodySha256 in the query, or Content-Digest (RFC 9530).')

/** The refusal of a signature that leaves the method open. */
export const methodRequired = () =>
  new Refused('signature-method-required', 'Sign the method too: method in the query, or @method (RFC 9421).')

/** The refusal of everything else about a signature. */
export const invalidSignature = (reason: string) =>
  new Refused('invalid-signature', `The signature is not accepted: ${reason}.`)
