/**
 * Refresh tokens: JWTs that only the auth server reads (docs/contract/callers.md#refresh-token), so they have an HMAC
 * with an own key. They have an own `typ` and `aud`: a refresh token is refused as access token, and an access token as
 * refresh token (RFC 8725 §3.11, §3.12).
 */
import * as z from 'zod'
import type { IdSource } from '../../shared/platform/ids.ts'
import { parseCompactJws, parseJsonObject } from '../../shared/protocol/access-token/compact-jws.ts'
import type { SecretsKeys } from '../store/secrets-keys.ts'
import { isSignedHs256, signHs256 } from './jws.ts'

const alg = 'HS256'
const typ = 'refresh+jwt'

/** The longest token that is read, in characters. */
const maxLength = 4096

const claimsSchema = z.object({
  iss: z.string(),
  aud: z.string(),
  sub: z.string(),
  sid: z.uuid(),
  ctr: z.number().int().min(0).max(0x7fffffff),
  gen: z.number().int(),
  exp: z.number().int(),
})

/** The content of a refresh token. */
export interface RefreshTokenContent {
  /** The user name as created. */
  readonly username: string
  /** The login of the refresh token family. */
  readonly loginId: string
  /** The number of the token in its family. The first is 0. */
  readonly counter: number
  readonly generation: number
  /** Seconds since the epoch. */
  readonly expiresAt: number
}

/** The content of a new refresh token, with the time of issue. */
export interface NewRefreshToken extends RefreshTokenContent {
  /** Seconds since the epoch. */
  readonly issuedAt: number
}

/** Issues and reads refresh tokens. */
export interface RefreshTokens {
  /** Issues a refresh token. */
  issue(content: NewRefreshToken): string
  /** Reads a token that was issued here, also when it is expired. Undefined for any other text. */
  read(token: string): RefreshTokenContent | undefined
}

/** The systems and the setting that refresh tokens use. */
export interface RefreshTokenPorts {
  readonly secretsKeys: SecretsKeys
  readonly ids: IdSource
  /** The claim `iss`; the audience is derived from it. */
  readonly issuer: string
}

/** Creates refresh tokens with keys derived from `SECRETS_KEY`: the first signs, all verify. */
export function createRefreshTokens({ secretsKeys, ids, issuer }: RefreshTokenPorts): RefreshTokens {
  const audience = `${issuer}/refresh`
  const keys = new Map(secretsKeys.map((key) => [key.id, key.derive('refresh tokens')]))
  const current = { kid: secretsKeys[0].id, key: secretsKeys[0].derive('refresh tokens') }

  /** The claims under a right signature. They may be expired: the caller checks that with the row of the family. */
  function verifiedClaims(token: string): unknown {
    const jws = token.length > maxLength ? undefined : parseCompactJws(token)
    if (jws === undefined || typeof jws === 'string' || jws.header.typ !== typ) return undefined
    const key = keys.get(String(jws.header.kid))
    return key && isSignedHs256(jws, key) ? parseJsonObject(jws.payload) : undefined
  }

  return {
    issue: ({ username, loginId, counter, generation, issuedAt, expiresAt }) =>
      signHs256(
        current.key,
        { alg, typ, kid: current.kid },
        {
          sid: loginId,
          ctr: counter,
          gen: generation,
          iss: issuer,
          sub: username,
          aud: audience,
          iat: issuedAt,
          exp: expiresAt,
          jti: ids.uuid(),
        },
      ),

    read: (token) => {
      const { data } = claimsSchema.safeParse(verifiedClaims(token))
      if (data?.iss !== issuer || data.aud !== audience) return undefined
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
