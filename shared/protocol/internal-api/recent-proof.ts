/** Whether a caller of a deal server has recent proof (docs/contract/accounts.md#recent-proof): 204, or 403. */
import * as z from 'zod'
import { schemeNames } from '../authentication/scheme.ts'
import { defineExchange } from './exchange.ts'

/** What the proof is sealed for (`internal-sealing.ts`). */
export const recentProofPurpose = 'recent-proof'

/** What is sealed. */
export const sealedProofSchema = z.object({ password: z.string().optional(), code: z.string().optional() })

/** Asks whether a caller has recent proof. */
export const recentProofExchange = defineExchange({
  method: 'POST',
  path: '/recent-proof',
  requestBody: z.strictObject({
    username: z.string(),
    userId: z.string(),
    scheme: z.enum(schemeNames),
    /** The public id of the login, session or API key; null for a credential without one. */
    loginId: z.string().nullable(),
    /** True when the credential carries the password. */
    carriesPassword: z.boolean(),
    /** Password and code in the body of the request, as JSON of `sealedProofSchema`, sealed. */
    proofSealed: z.string().max(16_384),
    clientAddress: z.string(),
  }),
})
