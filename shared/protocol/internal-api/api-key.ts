/** An API key, by its id, and that it was used. 404: there is none, or there is none any more. */
import * as z from 'zod'
import { defineExchange } from './exchange.ts'

/** What the secret of a key is sealed for (`sealing.ts`): it opens for no other key. */
export const apiKeySecretPurpose = (id: string): string => `api-key-secret ${id}`

const internalApiKeySchema = z.object({
  id: z.string(),
  kind: z.enum(['hmac', 'rsa']),
  username: z.string(),
  userId: z.string(),
  /** The version of the owner's principal record in the same snapshot. */
  version: z.number().int(),
  requireBodyHash: z.boolean(),
  rights: z.array(z.string()).readonly().nullable(),
  /** In milliseconds. */
  expiresAt: z.number().nullable(),
  /** Of kind `hmac`, sealed under the service secret that the caller holds. */
  secretSealed: z.string().nullable(),
  /** SPKI PEM, of kind `rsa`. */
  publicKeyPem: z.string().nullable(),
  /** The material before the last rotation, while it is accepted too. */
  former: z
    .object({
      secretSealed: z.string().nullable(),
      publicKeyPem: z.string().nullable(),
      /** In milliseconds. */
      until: z.number(),
    })
    .nullable(),
})

/** What deal servers verify signed requests with. */
export type InternalApiKey = z.infer<typeof internalApiKeySchema>

/** Reads an API key. */
export const apiKeyExchange = defineExchange({
  method: 'GET',
  path: '/api-keys/:id',
  openTo: 'all',
  responseBody: internalApiKeySchema,
})

/** Reports that an API key was used just now. */
export const apiKeyUsedExchange = defineExchange({
  method: 'POST',
  path: '/api-keys/:id/used',
  openTo: 'all',
})
