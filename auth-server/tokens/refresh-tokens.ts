/**
 * Refresh tokens: JWTs that only the auth server reads (docs/contract/callers.md#refresh-token), so they have an HMAC
 * with an own key. They have an own `typ` and `aud`: a refresh token is refused as access token, and an access token as
 * refresh token (RFC 8725 §3.11, §3.12).
 *
 * Their HMAC is of node:crypto, and their header is compared as a whole. jose queues a job of WebCrypto for each HMAC:
 * to sign takes 34 µs of CPU time by jose and 6 here, to verify 28 by jose and 7 here (Node.js 20, 32 callers, lowest
 * of seven runs). A refresh does both, and takes about 1,000 µs.
 */
import { createHmac, timingSafeEqual } from 'node:crypto'
import * as z from 'zod'
import type { IdSource } from '../../shared/platform/ids.ts'
import type { SecretsKeys } from '../store/secrets-keys.ts'

/** The longest token that is read, in characters. */
const maxLength = 4096

const claimsSchema = z.object({
  iss: z.string(),
  aud: z.string(),
  sub: z.string(),
  sid: z.uuid(),
  ctr: z.number().int().min(0).max(0x7fffffff),
  gen: z.number().int(),
  res: z.string().optional(),
  cid: z.string().optional(),
  end: z.number().int().optional(),
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
  /** The audience of the login; null: that of the pair. */
  readonly audience: string | null
  /** The client that the login is of; null: logins at `/login`. */
  readonly clientId: string | null
  /** The end of the login of a client, in seconds since the epoch; absent for a login at `/login`. */
  readonly endsAt?: number | undefined
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
  // Servers of release 0.3.0 know no clients, and would take their refresh tokens for those of logins with all rights.
  const audienceOf = (clientId: string | undefined) => `${issuer}${clientId === undefined ? '' : '/oauth'}/refresh`
  const keys = new Map(secretsKeys.map(({ id, derive }) => [headerOf(id), derive('refresh tokens')]))
  const current = { header: headerOf(secretsKeys[0].id), key: secretsKeys[0].derive('refresh tokens') }

  /** The claims under a right signature. They may be expired: the caller checks that with the row of the family. */
  function verifiedClaims(token: string): unknown {
    if (token.length > maxLength) return undefined
    const [header = '', payload = '', signature = '', ...others] = token.split('.')
    const key = keys.get(header)
    if (!key || others.length > 0 || !isEqual(signature, mac(key, `${header}.${payload}`))) return undefined
    return JSON.parse(Buffer.from(payload, 'base64url').toString())
  }

  return {
    issue: ({
      username,
      loginId,
      counter,
      generation,
      audience: resource,
      clientId,
      endsAt: end,
      issuedAt,
      expiresAt,
    }) => {
      const claims = {
        sid: loginId,
        ctr: counter,
        gen: generation,
        // JSON has no member whose value is undefined.
        res: resource ?? undefined,
        cid: clientId ?? undefined,
        end,
        iss: issuer,
        sub: username,
        aud: audienceOf(clientId ?? undefined),
        iat: issuedAt,
        exp: expiresAt,
        jti: ids.uuid(),
      }
      const input = `${current.header}.${encode(claims)}`
      return `${input}.${mac(current.key, input)}`
    },

    read: (token) => {
      const { data } = claimsSchema.safeParse(verifiedClaims(token))
      if (data?.iss !== issuer || data.aud !== audienceOf(data.cid)) return undefined
      return {
        username: data.sub,
        loginId: data.sid,
        counter: data.ctr,
        generation: data.gen,
        audience: data.res ?? null,
        clientId: data.cid ?? null,
        endsAt: data.end,
        expiresAt: data.exp,
      }
    },
  }
}

/** The encoded header of every token under this key. A token with another header is not of this server. */
const headerOf = (kid: string): string => encode({ alg: 'HS256', typ: 'refresh+jwt', kid })

const encode = (members: object): string => Buffer.from(JSON.stringify(members)).toString('base64url')

/** HS256 (RFC 7518 §3.2). */
const mac = (key: Buffer, input: string): string => createHmac('sha256', key).update(input).digest('base64url')

function isEqual(given: string, expected: string): boolean {
  const [a, b] = [Buffer.from(given), Buffer.from(expected)]
  return a.length === b.length && timingSafeEqual(a, b)
}
