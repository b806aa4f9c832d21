/** What the auth server tells deal servers of an API key: the answer of `GET /internal/api-keys/{id}`. */
import { z } from 'zod'

/** What the secret of a key is sealed for (`internal-sealing.ts`): it opens for no other key. */
export const apiKeySecretPurpose = (id: string): string => `api-key-secret ${id}`

export const internalApiKeySchema = z.object({
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
  /** Of kind `hmac`, sealed under the service secret that the asker holds. */
  secretSealed: z.string().nullable(),
  /** SPKI PEM, of kind `rsa`. */
  publicKeyPem: z.string().nullable(),
})

export type InternalApiKey = z.infer<typeof internalApiKeySchema>
