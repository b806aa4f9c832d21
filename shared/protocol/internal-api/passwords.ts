/** What the two servers tell each other about a password, at POST /internal/verify-password. */
import { z } from 'zod'

/** What the credential is sealed for. */
export const passwordPurpose = 'verify-password'

/** What is sealed, as JSON. */
export const presentedPasswordSchema = z.strictObject({ username: z.string(), password: z.string() })

/** The question. */
export const sealedPasswordSchema = z.strictObject({ credential: z.string().max(16_384), clientAddress: z.string() })

/** The answer: a `ProvedUser`. */
export const provedUserSchema = z.strictObject({
  username: z.string(),
  userId: z.string(),
  version: z.number().int(),
})
