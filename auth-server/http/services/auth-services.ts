import type { Clock } from '../../../shared/platform/clock.ts'
import type { Lists } from '../../../shared/platform/http/pagination/lists.ts'
import type { Authentication } from '../../../shared/protocol/authentication/authenticate.ts'
import type { RefuseCrossSite } from '../../../shared/protocol/authentication/cross-site.ts'
import type { LoginThrottle } from '../../../shared/protocol/authentication/login-throttle.ts'
import type { SessionCookie } from '../../../shared/protocol/authentication/session/session-cookie.ts'
import type { ResourceServers } from '../../access/resource-servers.ts'
import type { Roles } from '../../access/roles.ts'
import type { ApiKeysForCallers } from '../../api-keys/api-keys.ts'
import type { KnownKeys } from '../../api-keys/known-keys.ts'
import type { Audit } from '../../audit/audit.ts'
import type { AuditPage, AuditPageRequest } from '../../audit/read-entries.ts'
import type { SignIn } from '../../authorization/sign-in.ts'
import type { Clients } from '../../clients/clients.ts'
import type { KeyRing } from '../../key-ring/key-ring.ts'
import type { Logins } from '../../logins/create-logins.ts'
import type { OAuth } from '../../oauth/oauth.ts'
import type { SecondFactors } from '../../second-factors/create-second-factors.ts'
import type { Services } from '../../services/services.ts'
import type { DigestSecrets } from '../../users/digest-secrets.ts'
import type { PasswordResets } from '../../users/password-resets.ts'
import type { UsersForCallers } from '../../users/users.ts'

/** The origins that a form may lead back to. */
export interface ReturnOrigins {
  readonly publicOrigins: { readonly auth: string; readonly deal: string }
}

/** The services behind the public endpoints of an auth server. Each endpoint names those that it uses. */
export interface AuthServices extends Logins, OAuth, SignIn {
  readonly apiKeys: ApiKeysForCallers
  readonly audit: Audit
  readonly clients: Clients
  readonly clock: Clock
  readonly cookie: SessionCookie
  readonly digestSecrets: DigestSecrets
  readonly findCredentials: Authentication['findCredentials']
  readonly keyRing: KeyRing
  readonly knownKeys: KnownKeys
  readonly lists: Lists
  readonly loginThrottle: LoginThrottle
  /** The origin that clients see. */
  readonly origin: string
  readonly origins: ReturnOrigins
  readonly passwordResets: PasswordResets
  /** Reads one page of audit entries. @throws Unavailable */
  readEntries(page: AuditPageRequest): Promise<AuditPage>
  readonly refuseCrossSite: RefuseCrossSite
  readonly resourceServers: ResourceServers
  readonly roles: Roles
  readonly secondFactors: SecondFactors
  readonly services: Services
  readonly users: UsersForCallers
}
