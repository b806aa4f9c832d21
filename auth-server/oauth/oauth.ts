import { createKeySignedVerifier } from '../../shared/protocol/key-signed-token/verify-key-signed-token.ts'
import { type Audiences, createAudiences } from './audiences.ts'
import { createClientCredentialsGrant, type GrantClientCredentials } from './client-credentials.ts'
import { type ClientAuthentication, createClientAuthentication } from './clients.ts'
import { type ActiveToken, issueOfToken, readActiveToken, type TokenIssue } from './inspect-token.ts'
import { OAuthError } from './oauth-error.ts'
import type { OAuthSettings, OAuthSources, OAuthSystems } from './oauth-systems.ts'
import { createProxyTokens, type IssueProxyToken } from './proxy-token.ts'
import { createTokenRevocation, type RevokeToken } from './revoke-token.ts'
import { readUserInfo } from './user-info.ts'

/** The services behind the OAuth endpoints. */
export interface OAuth extends ClientAuthentication {
  readonly grantClientCredentials: GrantClientCredentials
  readonly audiences: Audiences
  /**
   * Refuses a refresh for another audience than that of the login. A text that is no refresh token passes: the refresh
   * refuses it.
   * @throws OAuthError `invalid_target`
   */
  requireSameAudience(refreshToken: string, audience: string | null): void
  /**
   * Refuses a refresh with more scope than that of the login (RFC 6749 §6). What the refresh refuses passes.
   * @throws OAuthError `invalid_scope`; Unavailable
   */
  requireGrantedScope(
    refreshToken: string,
    sent: { readonly scope: ReadonlySet<string>; readonly clientId: string | null },
  ): Promise<void>
  /** Undefined when no server would accept the token now. @throws Unavailable */
  readActiveToken(token: string): Promise<ActiveToken | undefined>
  readonly revokeToken: RevokeToken
  /** Undefined for a text that is no token. */
  issueOfToken(token: string): Promise<TokenIssue | undefined>
  readonly issueProxyToken: IssueProxyToken
  /** @throws as `readUserInfo` */
  userInfo(token: string): ReturnType<typeof readUserInfo>
}

/** Creates what the functions of this folder work with. */
export const createOAuthSystems = (settings: OAuthSettings, given: OAuthSources): OAuthSystems => ({
  ...given,
  settings,
  audiences: createAudiences(settings, given.database),
  verifyKeySignedToken: createKeySignedVerifier({
    keys: given.keyRing.verificationKeys('key-signed'),
    clock: given.clock,
  }),
})

/** Creates the services of OAuth. */
export function createOAuth(systems: OAuthSystems): OAuth {
  return {
    ...createClientAuthentication(systems),
    grantClientCredentials: createClientCredentialsGrant(systems),
    audiences: systems.audiences,
    requireSameAudience: (refreshToken, audience) => {
      const known = systems.refreshTokens.read(refreshToken)
      if (!known || known.audience === audience) return
      throw new OAuthError('invalid_target', 'resource: The refresh token is of a login for another audience.')
    },
    requireGrantedScope: async (refreshToken, { scope, clientId }) => {
      const known = systems.refreshTokens.read(refreshToken)
      const family = known?.clientId === clientId ? await systems.refreshTokenFamilies.find(known.loginId) : undefined
      if (!family || [...scope].every((name) => family.granted?.includes(name))) return
      throw new OAuthError('invalid_scope', 'scope: Of what was granted, or nothing.')
    },
    revokeToken: createTokenRevocation(systems),
    readActiveToken: (token) => readActiveToken(systems, token),
    issueOfToken: (token) => issueOfToken(systems, token),
    issueProxyToken: createProxyTokens(systems),
    userInfo: (token) => readUserInfo(systems, token),
  }
}
