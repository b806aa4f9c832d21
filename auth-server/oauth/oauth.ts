import type { Database } from '../../shared/platform/database/database.ts'
import type { VerificationKeys } from '../../shared/protocol/access-token/verify-access-token.ts'
import type { SchemeName } from '../../shared/protocol/authentication/scheme.ts'
import { createKeySignedVerifier } from '../../shared/protocol/key-signed-token/verify-key-signed-token.ts'
import type { PrincipalRecord } from '../../shared/protocol/principal/record.ts'
import type { ApiKeys } from '../api-keys/api-keys.ts'
import { type Audiences, createAudiences } from './audiences.ts'
import {
  type ClientCredentialsPorts,
  createClientCredentialsGrant,
  type GrantClientCredentials,
} from './client-credentials.ts'
import { type AuthenticateClient, type ClientPorts, createClientAuthentication } from './clients.ts'
import { type ActiveToken, type InspectPorts, issueOfToken, readActiveToken, type TokenIssue } from './inspect-token.ts'
import { OAuthError } from './oauth-error.ts'
import { createTokenRevocation, type RevokeToken, type RevokeTokenPorts } from './revoke-token.ts'

/** The services behind the OAuth endpoints. */
export interface OAuth {
  readonly authenticateClient: AuthenticateClient
  readonly grantClientCredentials: GrantClientCredentials
  readonly audiences: Audiences
  /**
   * Refuses a refresh for another audience than that of the login. A text that is no refresh token passes: the refresh
   * refuses it.
   * @throws OAuthError `invalid_target`
   */
  requireSameAudience(refreshToken: string, audience: string | null): void
  /** Undefined when no server would accept the token now. @throws Unavailable */
  readActiveToken(token: string): Promise<ActiveToken | undefined>
  readonly revokeToken: RevokeToken
  /** Undefined for a text that is no token. */
  issueOfToken(token: string): Promise<TokenIssue | undefined>
}

/** The settings that OAuth reads. */
export interface OAuthSettings {
  readonly issuer: string
  /** AUDIENCE. */
  readonly audience: string
  readonly publicOrigin: string
  readonly publicOrigins: Readonly<Record<string, string>>
  readonly schemes: readonly SchemeName[]
  readonly accessTokenTtlSeconds: number
}

type InjectedPorts = Omit<
  ClientPorts & ClientCredentialsPorts & InspectPorts & RevokeTokenPorts,
  keyof OAuthSettings | 'audiences' | 'tokenEndpoint' | 'servesKeySigned' | 'verifyKeySignedToken'
>

/** Other parts that OAuth uses. */
export interface OAuthPorts extends InjectedPorts {
  readonly database: Database
  readonly apiKeys: ApiKeys
  /** As the database has it now. */
  readonly principal: (username: string) => Promise<PrincipalRecord | undefined>
  readonly keyRing: { verificationKeys(use: 'key-signed'): VerificationKeys }
}

/** Creates the services of OAuth. */
export function createOAuth(settings: OAuthSettings, given: OAuthPorts): OAuth {
  const { issuer, accessTokenTtlSeconds, publicOrigin, schemes } = settings
  const ports = {
    ...given,
    issuer,
    accessTokenTtlSeconds,
    audiences: createAudiences(settings, given.database),
    tokenEndpoint: `${publicOrigin}/oauth/token`,
    servesKeySigned: schemes.includes('key-signed'),
    verifyKeySignedToken: createKeySignedVerifier({
      keys: given.keyRing.verificationKeys('key-signed'),
      clock: given.clock,
    }),
  }
  return {
    authenticateClient: createClientAuthentication(ports),
    grantClientCredentials: createClientCredentialsGrant(ports),
    audiences: ports.audiences,
    requireSameAudience: (refreshToken, audience) => {
      const known = ports.refreshTokens.read(refreshToken)
      if (!known || known.audience === audience) return
      throw new OAuthError('invalid_target', 'resource: The refresh token is of a login for another audience.')
    },
    revokeToken: createTokenRevocation(ports),
    readActiveToken: (token) => readActiveToken(ports, token),
    issueOfToken: (token) => issueOfToken(ports, token),
  }
}
