/** What the auth server tells deal servers of a Digest secret, at GET /internal/digest-secrets. */
import { z } from 'zod'

/** What H(A1) is sealed for: it belongs to this user alone. */
export const digestSecretPurpose = (userId: string): string => `digest-secret ${userId}`

export const internalDigestSecretSchema = z.strictObject({
  username: z.string(),
  userId: z.string(),
  version: z.number().int(),
  ha1Sealed: z.string(),
})

export type InternalDigestSecret = z.infer<typeof internalDigestSecretSchema>
