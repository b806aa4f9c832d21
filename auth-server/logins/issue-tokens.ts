import { loginClientId } from '../../shared/protocol/access-token/access-token.ts'
import type { IssueAccessToken, LoginProof } from '../tokens/access-tokens.ts'
import type { RefreshTokens } from '../tokens/refresh-tokens.ts'
import type { TokenTimes } from './refresh-token-family.ts'

/** The body of `/login` and `/refresh` (RFC 6749 §5.1; `refresh_expires_in` is an addition). Durations in seconds. */
export interface TokenResponse {
  readonly access_token: string
  readonly refresh_token: string
  readonly token_type: 'Bearer'
  readonly expires_in: number
  readonly refresh_expires_in: number
}

/** A login whose tokens are issued. */
export interface TokenLogin {
  readonly id: string
  /** The user name as created. */
  readonly username: string
  readonly generation: number
  /** The audience of its access tokens; null: that of the pair. */
  readonly audience: string | null
}

/** Issues a new access token for a login, and makes the response with it and the refresh token. */
export async function tokenResponse(
  issueAccessToken: IssueAccessToken,
  login: TokenLogin,
  { refreshToken, times, proof }: { refreshToken: string; times: TokenTimes; proof: LoginProof },
): Promise<TokenResponse> {
  const accessToken = await issueAccessToken({
    username: login.username,
    loginId: login.id,
    generation: login.generation,
    clientId: loginClientId,
    audience: login.audience,
    issuedAt: times.issuedAt,
    expiresAt: times.accessExpiresAt,
    proof,
  })
  return {
    access_token: accessToken,
    refresh_token: refreshToken,
    token_type: 'Bearer',
    expires_in: times.accessExpiresAt - times.issuedAt,
    refresh_expires_in: times.refreshExpiresAt - times.issuedAt,
  }
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
    issuedAt: times.issuedAt,
    expiresAt: times.refreshExpiresAt,
  })
