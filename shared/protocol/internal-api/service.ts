/** Which service asks, and what it needs to know of the auth server. A follower asks at its start. */
import * as z from 'zod'
import { schemeNames } from '../authentication/scheme.ts'
import { defineExchange } from './exchange.ts'

/** The version of the contract of `/internal` (docs/contract/services.md#versions). Additions do not raise it. */
export const internalApiVersion = 1 as const

const serviceDescriptionSchema = z.object({
  version: z.literal(internalApiVersion),
  /** The public id of the service. */
  id: z.uuid(),
  /** The claim `iss` of access tokens. */
  issuer: z.string(),
  /** The one that the service belongs to. `audience` is the claim `aud` of its tokens. */
  resourceServer: z.object({ id: z.string(), audience: z.string() }),
  /** AUTH_SCHEMES: the schemes that the auth server serves. */
  schemes: z.array(z.enum(schemeNames)),
  signatureTtlSeconds: z.number().int(),
  sessionIdleTtlSeconds: z.number().int(),
  /** EXPIRED_TOKEN_STATUS: 400 or 401. */
  expiredTokenStatus: z.number().int(),
  /** The origins under which clients see the pair. */
  publicOrigins: z.object({ auth: z.string(), deal: z.string() }),
  /**
   * The history of the auth database, of which each Digest nonce carries a mark (`digest-nonce.ts`). Another instance
   * id announces another history. Null when the auth server does not know it yet.
   */
  history: z.string().nullable(),
})

/** What the auth server tells a service. */
export type ServiceDescription = z.infer<typeof serviceDescriptionSchema>

/** Reads what the auth server tells a service of itself. */
export const serviceExchange = defineExchange({
  method: 'GET',
  path: '/service',
  openTo: 'services',
  responseBody: serviceDescriptionSchema,
})
