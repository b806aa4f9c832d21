/**
 * The access token: a JWT in the profile of RFC 9068 (docs/contract/callers.md#access-token). Both servers share this
 * definition.
 */
import type { KeyObject } from 'node:crypto'
import * as z from 'zod'

/** The signature algorithms (RFC 7518 §3.3 and §3.4, RFC 8037 §3.1). */
export const accessTokenAlgs = ['RS256', 'ES256', 'EdDSA'] as const

/** The name of one of them. */
export type AccessTokenAlg = (typeof accessTokenAlgs)[number]

/** The only algorithm that this key serves, so that no token can choose another; undefined for a key of no use here. */
export function accessTokenAlgOf({ asymmetricKeyType: type, asymmetricKeyDetails: details }: KeyObject) {
  if (type === 'rsa') return 'RS256'
  if (type === 'ec' && details?.namedCurve === 'prime256v1') return 'ES256'
  return type === 'ed25519' ? 'EdDSA' : undefined
}

/** The header's `typ` (RFC 9068 §2.1). */
export const accessTokenTyp = 'at+jwt'

/** `client_id` of tokens from `/login`: a public client (RFC 9068 §2.2). */
export const loginClientId = 'keyhold'

/** `client_id` of the command line (`keyhold login --device`): a public client that is built in. */
export const commandLineClientId = 'keyhold-cli'

/** `client_id` of the documentation pages, `/docs`: a public client that is built in. */
export const docsClientId = 'keyhold-docs'

/** `client_id` of tokens for services behind a proxy (docs/forward-auth.md#token): no client of the user has them. */
export const proxyClientId = 'keyhold-proxy'

/** `amr` of a login with a password, and with this factor beside it; null: without one (RFC 8176). */
export const loginMethods = (factor: string | null): readonly string[] =>
  factor === null ? ['pwd'] : ['pwd', factor, 'mfa']

/** The largest length of a token in characters. A longer one is refused unread. */
export const maxAccessTokenLength = 8192

/** The longest `scope` of a token, in characters. */
export const maxScopeLength = 4_096

/**
 * The longest lifetime of an access token, in seconds: the upper bound of `ACCESS_TOKEN_TTL`. A verifier refuses more.
 */
export const maxAccessTokenTtlSeconds = 86_400

const numericDate = z.number().int().nonnegative()
const shortText = z.string().min(1).max(256)

/** The claims (RFC 9068 §2.2, and `sid` and `gen` of our own). Times are NumericDates: seconds since the epoch. */
export const accessTokenClaimsSchema = z.object({
  iss: z.string(),
  /** User name, as created. */
  sub: shortText,
  /** The service that the token is for. `authenticate.ts` compares it. */
  aud: z.union([z.string(), z.array(z.string())]),
  exp: numericDate,
  iat: numericDate,
  nbf: numericDate.optional(),
  jti: shortText,
  client_id: shortText,
  /** The name of an application, for people. Absent in other tokens. */
  client_name: shortText.optional(),
  /** The id of the login or of the API key. */
  sid: shortText,
  /** The credential generation of the user when the token was issued. */
  gen: z.number().int().nonnegative(),
  /**
   * Names of rights, separated by blanks: what the token may do of what its user may (RFC 9068 §2.2.3). Absent: all
   * rights of the user. Empty: none.
   */
  scope: z.string().max(maxScopeLength).optional(),
  /** When the user was authenticated: the start of the login (RFC 9068 §2.2.1). Absent in tokens of API keys. */
  auth_time: numericDate.optional(),
  /** How (RFC 8176). Absent in tokens of API keys. */
  amr: z.array(shortText).max(8).optional(),
})

/** The claims of a verified access token. */
export type AccessTokenClaims = z.infer<typeof accessTokenClaimsSchema>
