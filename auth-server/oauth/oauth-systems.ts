import type { VerificationKeys } from '../../shared/protocol/access-token/verify-access-token.ts'
import type { SchemeName } from '../../shared/protocol/authentication/scheme.ts'
import type { VerifyKeySignedToken } from '../../shared/protocol/key-signed-token/verify-key-signed-token.ts'
import type { PrincipalRecord } from '../../shared/protocol/principal/record.ts'
import type { ApiKeys } from '../api-keys/api-keys.ts'
import type { KnownKeys } from '../api-keys/known-keys.ts'
import type { Clients } from '../clients/clients.ts'
import type { Logins } from '../logins/create-logins.ts'
import type { RefreshTokenFamilies } from '../logins/refresh-token-families.ts'
import type { LoginLifetimes } from '../logins/refresh-token-family.ts'
import type { RevokeLogin } from '../logins/revoke-login.ts'
import type { Catalogues } from '../principals/catalogue.ts'
import type { PrincipalReader } from '../principals/principal-reader.ts'
import type { AuthSystems } from '../systems/auth-systems.ts'
import type { Tokens } from '../tokens/create-tokens.ts'
import type { Audiences } from './audiences.ts'

/** The settings that OAuth reads. */
export interface OAuthSettings extends LoginLifetimes {
  readonly issuer: string
  /** AUDIENCE. */
  readonly audience: string
  readonly publicOrigin: string
  readonly publicOrigins: Readonly<Record<string, string>>
  readonly schemes: readonly SchemeName[]
  readonly sessionIdleTtlSeconds: number
}

/** What OAuth is made of. */
export interface OAuthSources extends AuthSystems, Tokens {
  readonly apiKeys: ApiKeys
  readonly catalogues: Catalogues
  readonly clients: Clients
  readonly knownKeys: KnownKeys
  readonly makeRoom: Logins['makeRoom']
  readonly refreshTokenFamilies: RefreshTokenFamilies
  readonly revokeLogin: RevokeLogin
  /** As the database has it now. */
  readonly principal: (username: string) => Promise<PrincipalRecord | undefined>
  readonly inCatalogue: PrincipalReader['inCatalogue']
  readonly keyRing: { verificationKeys(use: 'key-signed'): VerificationKeys }
}

/** What the functions of this folder work with (`oauth.ts`). */
export interface OAuthSystems extends OAuthSources {
  readonly settings: OAuthSettings
  readonly audiences: Audiences
  readonly verifyKeySignedToken: VerifyKeySignedToken
}
