/** A user's Digest secret, by `?username=` or `?userhash=`. 404: there is none. */
import * as z from 'zod'
import { defineExchange } from './exchange.ts'

/** What H(A1) is sealed for (`sealing.ts`): it belongs to this user alone. */
export const digestSecretPurpose = (userId: string): string => `digest-secret ${userId}`

/** Reads a Digest secret. */
export const digestSecretExchange = defineExchange({
  method: 'GET',
  path: '/digest-secrets',
  responseBody: z.object({
    username: z.string(),
    userId: z.string(),
    version: z.number().int(),
    ha1Sealed: z.string(),
  }),
})
