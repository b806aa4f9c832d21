/** All public endpoints except those of OAuth (docs/contract/logins.md#routes-of-the-auth-server). */
import type { KeyRing } from '../../key-ring/key-ring.ts'
import type { PasswordChanges } from '../../logins/change-password.ts'
import { type ResourceServersPorts, resourceServersEndpoints } from './access/resource-servers.ts'
import { type RolesEndpointPorts, rolesEndpoints } from './access/roles.ts'
import { type ApiKeysEndpointPorts, apiKeysEndpoints } from './api-keys.ts'
import { type AuditEndpointPorts, auditEndpoint } from './audit.ts'
import { type DigestSecretEndpointPorts, digestSecretEndpoint } from './digest-secret.ts'
import { type VerifyPorts, verifyEndpoint } from './forward-auth/verify.ts'
import { keyDocumentEndpoints } from './key-documents.ts'
import { type KeySignedTokenPorts, keySignedTokenEndpoint } from './key-signed-tokens.ts'
import { keysEndpoint } from './keys.ts'
import { type LoginEndpointPorts, loginEndpoint } from './login.ts'
import { type LogoutEndpointPorts, logoutEndpoint } from './logout.ts'
import { type MePorts, meEndpoint } from './me.ts'
import { type PasswordResetPorts, passwordResetEndpoints } from './password-resets.ts'
import { type RefreshEndpointPorts, refreshEndpoint } from './refresh.ts'
import { type OwnSecondFactorsPorts, ownSecondFactorsEndpoints } from './second-factors/own-second-factors.ts'
import { type ResetSecondFactorsPorts, resetSecondFactorsEndpoint } from './second-factors/reset-second-factors.ts'
import { type ServicesEndpointPorts, servicesEndpoints } from './services.ts'
import { type EndSessionPorts, endSessionEndpoints } from './sessions/end-session.ts'
import { type OwnLoginsPorts, ownLoginsEndpoint, type SignInPorts, signInEndpoint } from './sessions/sessions.ts'
import { type UserSessionsPorts, userSessionsEndpoints } from './sessions/user-sessions.ts'
import { userPasswordEndpoint } from './user-password.ts'
import { type UsersEndpointPorts, usersEndpoints } from './users.ts'

/** Services that the endpoints use. Each endpoint takes its part. */
export type EndpointPorts = ApiKeysEndpointPorts &
  AuditEndpointPorts &
  DigestSecretEndpointPorts &
  EndSessionPorts &
  KeySignedTokenPorts &
  LoginEndpointPorts &
  LogoutEndpointPorts &
  MePorts &
  OwnLoginsPorts &
  OwnSecondFactorsPorts &
  ResetSecondFactorsPorts &
  PasswordResetPorts &
  RefreshEndpointPorts &
  ServicesEndpointPorts &
  SignInPorts &
  UserSessionsPorts &
  ResourceServersPorts &
  RolesEndpointPorts &
  UsersEndpointPorts &
  VerifyPorts & {
    readonly keyRing: KeyRing
    readonly passwords: PasswordChanges
  }

/** Schemes (AUTH_SCHEMES) whose credentials some endpoints issue. */
export interface ServedSchemes {
  readonly keySigned: boolean
  readonly session: boolean
}

/**
 * Creates all endpoints. Users can list and end their logins without the scheme `session` too. The inferred type names
 * every route: the console takes the types of its calls from it.
 */
export const createEndpoints = (serves: ServedSchemes, ports: EndpointPorts) => [
  loginEndpoint(ports),
  refreshEndpoint(ports),
  logoutEndpoint(ports),
  ...(serves.keySigned ? [keySignedTokenEndpoint(ports)] : []),
  ...(serves.session ? [signInEndpoint(ports)] : []),
  ownLoginsEndpoint(ports),
  ...endSessionEndpoints(ports),
  meEndpoint(ports),
  verifyEndpoint(ports),
  ...ownSecondFactorsEndpoints(ports),
  ...usersEndpoints(ports),
  ...rolesEndpoints(ports),
  ...resourceServersEndpoints(ports),
  userPasswordEndpoint(ports),
  ...passwordResetEndpoints(ports),
  digestSecretEndpoint(ports),
  resetSecondFactorsEndpoint(ports),
  ...userSessionsEndpoints(ports),
  ...apiKeysEndpoints(ports),
  ...servicesEndpoints(ports),
  keysEndpoint(ports),
  auditEndpoint(ports),
  ...keyDocumentEndpoints(ports.keyRing),
]
