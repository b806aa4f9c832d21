/** Whose password it is: deal servers keep none. 401 `invalid-credentials`: nobody's. */
import * as z from 'zod'
import { defineExchange } from './exchange.ts'

/** What the credential is sealed for (`sealing.ts`). */
export const passwordPurpose = 'verify-password'

/** What is sealed, as JSON. */
export const receivedPasswordSchema = z.object({ username: z.string(), password: z.string() })

/** Verifies a password. The answer is a `ProvedUser`. */
export const passwordExchange = defineExchange({
  method: 'POST',
  path: '/verify-password',
  requestBody: z.object({ credential: z.string().max(16_384), clientAddress: z.string() }),
  responseBody: z.object({ username: z.string(), userId: z.string(), version: z.number().int() }),
})
