import { createKeySignedVerifier } from '../../shared/protocol/key-signed-token/verify-key-signed-token.ts'
import { createAudiences } from './audiences.ts'
import { createClientCredentialsGrant } from './client-credentials.ts'
import { createClientAuthentication } from './clients.ts'
import { issueOfToken, readActiveToken } from './inspect-token.ts'
import { OAuthError } from './oauth-error.ts'
import type { OAuthSettings, OAuthSources, OAuthSystems } from './oauth-systems.ts'
import { createProxyTokens } from './proxy-token.ts'
import { createTokenRevocation } from './revoke-token.ts'
import { readUserInfo } from './user-info.ts'

/** The services behind the OAuth endpoints. */
export type OAuth = ReturnType<typeof createOAuth>

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

/** Creates the services of OAuth. Every asynchronous one throws Unavailable. */
export function createOAuth(systems: OAuthSystems) {
  return {
    ...createClientAuthentication(systems),
    grantClientCredentials: createClientCredentialsGrant(systems),
    audiences: systems.audiences,
    /**
     * Refuses a refresh for another audience than that of the login. A text that is no refresh token passes: the
     * refresh refuses it. @throws OAuthError `invalid_target`
     */
    requireSameAudience: (refreshToken: string, audience: string | null): void => {
      const known = systems.refreshTokens.read(refreshToken)
      if (!known || known.audience === audience) return
      throw new OAuthError('invalid_target', 'resource: The refresh token is of a login for another audience.')
    },
    /**
     * Refuses a refresh with more scope than that of the login (RFC 6749 §6). What the refresh refuses passes.
     * @throws OAuthError `invalid_scope`
     */
    requireGrantedScope: async (
      refreshToken: string,
      { scope, clientId }: { readonly scope: ReadonlySet<string>; readonly clientId: string | null },
    ): Promise<void> => {
      const known = systems.refreshTokens.read(refreshToken)
      const family = known?.clientId === clientId ? await systems.refreshTokenFamilies.find(known.loginId) : undefined
      if (!family || [...scope].every((name) => family.granted?.includes(name))) return
      throw new OAuthError('invalid_scope', 'scope: Of what was granted, or nothing.')
    },
    revokeToken: createTokenRevocation(systems),
    /** Undefined when no server would accept the token now. */
    readActiveToken: (token: string) => readActiveToken(systems, token),
    issueOfToken: (token: string) => issueOfToken(systems, token),
    issueProxyToken: createProxyTokens(systems),
    userInfo: (token: string) => readUserInfo(systems, token),
  }
}
