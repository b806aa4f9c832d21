/**
 * That the signature of an unsafe request was used, of a request that a service verified itself: by an RSA key. Each
 * service counts for itself. The answer is that of `UseSignature`.
 */
import * as z from 'zod'
import { defineExchange } from './exchange.ts'

/** Uses a signature. The members are those of `SignatureUse`. */
export const usedSignaturesExchange = defineExchange({
  method: 'POST',
  path: '/used-signatures',
  openTo: 'services',
  requestBody: z.strictObject({
    /** The id of the key. */
    apiKey: z.uuid(),
    /** SHA-256 (base64url) of the octets of the signature. */
    signature: z.string().regex(/^[A-Za-z0-9_-]{43}$/),
    /** The time after which no server accepts it, by any SIGNATURE_TTL, in milliseconds. */
    expiresAt: z.number().int().nonnegative(),
  }),
  /** When it was used before, in milliseconds; null for the first use. */
  responseBody: z.object({ usedAt: z.number().nullable() }),
})
