/**
 * The access token: a JWT in the profile of RFC 9068, signed with RS256 (CONTRACT section 3). What both servers must agree on.
 */
import { z } from 'zod'

/** The only signature algorithm (RFC 7518 §3.3). */
export const accessTokenAlg = 'RS256'

/** The header's `typ` (RFC 9068 §2.1). */
export const accessTokenTyp = 'at+jwt'

/** `client_id` of tokens from `/login`: a public client (RFC 9068 §2.2). */
export const loginClientId = 'keyhold'

/** Nothing longer is looked at, in characters. */
export const maxAccessTokenLength = 8192

/** No access token lives longer, in seconds: the upper bound of `ACCESS_TOKEN_TTL`, which a verifier insists on. */
export const maxAccessTokenTtlSeconds = 86_400

const numericDate = z.number().int().nonnegative()
const shortText = z.string().min(1).max(256)

/** The claims (RFC 9068 §2.2, and `sid` and `gen` of our own). Times are NumericDates: seconds since the epoch. */
export const accessTokenClaimsSchema = z.object({
  iss: z.string(),
  /** User name, as created. */
  sub: shortText,
  aud: z.union([z.string(), z.array(z.string())]),
  exp: numericDate,
  iat: numericDate,
  nbf: numericDate.optional(),
  jti: shortText,
  client_id: shortText,
  /** The login it belongs to, by id. */
  sid: shortText,
  /** The credential generation it was made under. */
  gen: z.number().int().nonnegative(),
  /** Names of rights: all that it may do of what its user may (RFC 9068 §2.2.3). Without it, everything; empty, nothing. */
  scope: z.string().max(4096).optional(),
})

/** The claims of an access token whose signature and claims are right. */
export type AccessTokenClaims = z.infer<typeof accessTokenClaimsSchema>
