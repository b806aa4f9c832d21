/** Whether a caller of a deal server has recent proof (docs/contract.md#recent-proof): 204, or 403 with the code. */
import * as z from 'zod'
import { schemeNames } from '../authentication/scheme.ts'
import { defineExchange } from './exchange.ts'

/** What a password is sealed for (`internal-sealing.ts`). */
export const recentProofPurpose = 'recent-proof'

/** Asks for one caller. */
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
    /** The password in the body of the request, sealed; null without one. */
    passwordSealed: z.string().max(16_384).nullable(),
    clientAddress: z.string(),
  }),
  responseBody: undefined,
})
