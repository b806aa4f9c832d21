import { ProblemError } from '../../shared/platform/problems/errors.ts'
import { proxyClientId } from '../../shared/protocol/access-token/access-token.ts'
import type { AccessTokenVerdict } from '../../shared/protocol/access-token/verify-access-token.ts'
import { requireOwnAccount } from '../../shared/protocol/authentication/own-account.ts'
import type { LoginSystems } from './login-systems.ts'

/**
 * Revokes the login of this access token or refresh token. The access token may be expired and the refresh token may be
 * used. False when the login is no longer stored; a login that was revoked before is no error.
 *
 * @throws ProblemError `invalid-token` for a text that is no token of this server, `narrowed-credential` for the token
 *   of a service behind a proxy
 * @throws Unavailable
 */
export function createLogOut(systems: LoginSystems) {
  return async function logOut(token: string): Promise<boolean> {
    const loginId = systems.refreshTokens.read(token)?.loginId ?? loginIdOf(await systems.verifyAccessToken(token))
    if (loginId === undefined) throw new ProblemError('invalid-token', 'This is no token of this server.')
    const family = await systems.refreshTokenFamilies.find(loginId)
    if (!family) return false
    await systems.revokeLogin({ id: family.id, username: family.username, reason: 'logout' })
    return true
  }
}

function loginIdOf(verdict: AccessTokenVerdict): string | undefined {
  if (!verdict.ok && verdict.problem !== 'token-expired') return undefined
  requireOwnAccount({ credential: { isForwarded: verdict.claims.client_id === proxyClientId } })
  return verdict.claims.sid
}
