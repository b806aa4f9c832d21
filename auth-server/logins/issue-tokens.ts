import { loginClientId } from '../../shared/protocol/access-token/access-token.ts'
import type { LoginProof } from '../tokens/access-tokens.ts'
import type { Tokens } from '../tokens/create-tokens.ts'
import type { ClientLogin } from '../tokens/id-tokens.ts'
import type { RefreshTokens } from '../tokens/refresh-tokens.ts'
import type { FamilyLogin, TokenTimes } from './refresh-token-family.ts'

/** The body of `/login` and `/refresh` (RFC 6749 §5.1; `refresh_expires_in` is an addition). Durations in seconds. */
export interface TokenResponse {
  readonly access_token: string
  readonly refresh_token: string
  readonly token_type: 'Bearer'
  readonly expires_in: number
  readonly refresh_expires_in: number
  /** Of a client with the scope `openid` (OpenID Connect Core §3.1.3.3). */
  readonly id_token?: string
  /** Of a client: what was granted, scopes of OpenID Connect and rights. */
  readonly scope?: string
}

/** A login whose tokens are issued. */
export interface TokenLogin extends FamilyLogin {
  /** The end of the login of a client, in seconds: its tokens say it, so that one statement can rotate them. */
  readonly endsAt?: number | undefined
}

/** What the tokens of one answer are made with. */
export interface AnsweredTokens {
  readonly refreshToken: string
  readonly times: TokenTimes
  readonly proof: LoginProof
  /** Null for a login at `/login`. */
  readonly client: ClientLogin | null
  /** That of the authorization request; absent in the answer to a refresh. */
  readonly nonce?: string | undefined
}

/** Issues a new access token for a login, and makes the response with it and the refresh token. */
export async function tokenResponse(
  { issueAccessToken, issueIdToken }: Tokens,
  login: TokenLogin,
  { refreshToken, times, proof, client, nonce }: AnsweredTokens,
): Promise<TokenResponse> {
  const { issuedAt, accessExpiresAt: expiresAt } = times
  const accessToken = await issueAccessToken({
    username: login.username,
    loginId: login.id,
    generation: login.generation,
    clientId: login.clientId ?? loginClientId,
    clientName: client?.name ?? undefined,
    audience: login.audience,
    rights: client?.rights ?? undefined,
    issuedAt,
    expiresAt,
    proof,
  })
  const response = {
    access_token: accessToken,
    refresh_token: refreshToken,
    token_type: 'Bearer',
    expires_in: expiresAt - issuedAt,
    refresh_expires_in: times.refreshExpiresAt - issuedAt,
  } as const
  if (client === null) return response
  const scope = [...client.scopes, ...(client.rights ?? [])].join(' ')
  const answer = scope === '' ? response : { ...response, scope }
  if (!client.scopes.includes('openid')) return answer
  const ofLogin = { ...client, loginId: login.id }
  return { ...answer, id_token: await issueIdToken({ login: ofLogin, proof, nonce, accessToken, issuedAt, expiresAt }) }
}

/** Issues the refresh token with this counter in the login's family. */
export const issueRefreshToken = (
  refreshTokens: RefreshTokens,
  login: TokenLogin,
  { counter, times }: { counter: number; times: TokenTimes },
): string =>
  refreshTokens.issue({
    username: login.username,
    loginId: login.id,
    counter,
    generation: login.generation,
    audience: login.audience,
    clientId: login.clientId,
    endsAt: login.endsAt,
    issuedAt: times.issuedAt,
    expiresAt: times.refreshExpiresAt,
  })
