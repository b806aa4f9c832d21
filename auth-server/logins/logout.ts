import { ProblemError } from '../../shared/platform/problems/errors.ts'
import type { VerifyAccessToken } from '../../shared/protocol/access-token/verify-access-token.ts'
import type { RefreshTokens } from '../tokens/refresh-tokens.ts'
import type { RefreshTokenFamilies } from './refresh-token-families.ts'
import { type EndLoginPorts, endLogin } from './revoke-login.ts'

/** What a logout needs. */
export interface LogoutPorts extends EndLoginPorts {
  readonly refreshTokenFamilies: RefreshTokenFamilies
  readonly refreshTokens: RefreshTokens
  readonly verifyAccessToken: VerifyAccessToken
}

/** A login that has ended, and whose it was. */
export interface EndedLogin {
  readonly id: string
  readonly username: string
  /** It was alive until now. */
  readonly wasAlive: boolean
}

/**
 * Ends the login of either of its tokens; undefined when it is no longer known. The access token may have expired and the refresh token
 * may be used up, as long as they were issued here; a login that has ended, or is no longer known, is no error.
 *
 * @throws ProblemError `invalid-token` for any other text
 * @throws Unavailable
 */
export type LogOut = (token: string) => Promise<EndedLogin | undefined>

/** Logging out over these ports. */
export function createLogOut(ports: LogoutPorts): LogOut {
  return async (token) => {
    const loginId = (await ports.refreshTokens.read(token))?.loginId ?? loginIdOf(ports.verifyAccessToken(token))
    if (loginId === undefined) throw new ProblemError('invalid-token', 'this is no token of this server')
    const family = await ports.refreshTokenFamilies.find(loginId)
    if (!family) return undefined
    const { id, username, alive } = family
    const hasEnded = await endLogin(ports, { id, username, reason: 'logout' })
    return { id, username, wasAlive: alive && hasEnded }
  }
}

const loginIdOf = (verdict: ReturnType<VerifyAccessToken>): string | undefined =>
  verdict.ok || verdict.problem === 'token-expired' ? verdict.claims.sid : undefined
