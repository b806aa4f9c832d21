/**
 * Refresh tokens: JWTs that only the auth server reads (docs/contract.md#refresh-token), hence an HMAC under a key of their own. With their own
 * `typ` and `aud` they are useless as access tokens, and access tokens are useless here (RFC 8725 §3.11, §3.12).
 */
import { jwtVerify, SignJWT } from 'jose'
import { z } from 'zod'
import type { IdSource } from '../../shared/platform/ids.ts'
import type { SecretsKeys } from '../store/secrets-keys.ts'

const alg = 'HS256'
const typ = 'refresh+jwt'

/** Nothing longer is looked at, in characters. */
const maxLength = 4096

const claimsSchema = z.object({
  sub: z.string(),
  sid: z.uuid(),
  ctr: z.number().int().min(0).max(0x7fffffff),
  gen: z.number().int(),
  exp: z.number().int(),
})

/** What a refresh token says. */
export interface RefreshTokenContent {
  /** User name, as created. */
  readonly username: string
  /** The login whose family it is of. */
  readonly loginId: string
  /** Which token of the family it is: the first is 0. */
  readonly counter: number
  readonly generation: number
  /** Seconds since the epoch. */
  readonly expiresAt: number
}

/** Everything a refresh token says, and when it was issued. */
export interface NewRefreshToken extends RefreshTokenContent {
  /** Seconds since the epoch. */
  readonly issuedAt: number
}

/** Issues and reads refresh tokens. */
export interface RefreshTokens {
  issue(content: NewRefreshToken): Promise<string>
  /** What a token issued here says, expired or not; undefined for everything else. */
  read(token: string): Promise<RefreshTokenContent | undefined>
}

/** What refresh tokens need. */
export interface RefreshTokenPorts {
  readonly secretsKeys: SecretsKeys
  readonly ids: IdSource
  /** The claim `iss`; the audience is derived from it. */
  readonly issuer: string
}

/** Refresh tokens under keys derived from `SECRETS_KEY`: the first signs, all verify. */
export function createRefreshTokens({ secretsKeys, ids, issuer }: RefreshTokenPorts): RefreshTokens {
  const audience = `${issuer}/refresh`
  const keys = new Map(secretsKeys.map((key) => [key.id, new Uint8Array(key.derive('refresh tokens'))]))
  const current = { kid: secretsKeys[0].id, key: secretsKeys[0].derive('refresh tokens') }

  async function verifiedPayload(token: string): Promise<unknown> {
    const keyOf = ({ kid }: { kid?: string }) => {
      const key = keys.get(kid ?? '')
      if (!key) throw new Error('unknown key')
      return key
    }
    // Whether it has expired is for the caller to judge, by the family's row: here every expiry lies ahead.
    const options = { algorithms: [alg], typ, issuer, audience, currentDate: new Date(0) }
    try {
      return (await jwtVerify(token, keyOf, options)).payload
    } catch {
      return undefined
    }
  }

  return {
    issue: ({ username, loginId, counter, generation, issuedAt, expiresAt }) =>
      new SignJWT({ sid: loginId, ctr: counter, gen: generation })
        .setProtectedHeader({ alg, typ, kid: current.kid })
        .setIssuer(issuer)
        .setSubject(username)
        .setAudience(audience)
        .setIssuedAt(issuedAt)
        .setExpirationTime(expiresAt)
        .setJti(ids.uuid())
        .sign(current.key),

    read: async (token) => {
      if (token.length > maxLength) return undefined
      const { success, data } = claimsSchema.safeParse(await verifiedPayload(token))
      if (!success) return undefined
      return {
        username: data.sub,
        loginId: data.sid,
        counter: data.ctr,
        generation: data.gen,
        expiresAt: data.exp,
      }
    },
  }
}
