/** All public endpoints except those of OAuth (docs/contract/logins.md#routes-of-the-auth-server). */

import type { AuthServices } from '../services/auth-services.ts'
import { resourceServersEndpoints } from './access/resource-servers.ts'
import { rolesEndpoints } from './access/roles.ts'
import { apiKeysEndpoints } from './api-keys.ts'
import { auditEndpoint } from './audit.ts'
import { clientsEndpoints } from './clients.ts'
import { consentsEndpoints } from './consents.ts'
import { digestSecretEndpoint } from './digest-secret.ts'
import { verifyEndpoint } from './forward-auth/verify.ts'
import { keyDocumentEndpoints } from './key-documents.ts'
import { keySignedTokenEndpoint } from './key-signed-tokens.ts'
import { keysEndpoint } from './keys.ts'
import { loginEndpoint } from './login.ts'
import { logoutEndpoint } from './logout.ts'
import { meEndpoint } from './me.ts'
import { passwordResetEndpoints } from './password-resets.ts'
import { refreshEndpoint } from './refresh.ts'
import { ownSecondFactorsEndpoints } from './second-factors/own-second-factors.ts'
import { resetSecondFactorsEndpoint } from './second-factors/reset-second-factors.ts'
import { servicesEndpoints } from './services.ts'
import { endSessionEndpoints } from './sessions/end-session.ts'
import { ownLoginsEndpoint, signInEndpoint } from './sessions/sessions.ts'
import { userSessionsEndpoints } from './sessions/user-sessions.ts'
import { userPasswordEndpoint } from './user-password.ts'
import { usersEndpoints } from './users.ts'

/** Schemes (AUTH_SCHEMES) whose credentials some endpoints issue. */
export interface ServedSchemes {
  readonly keySigned: boolean
  readonly session: boolean
}

/**
 * Creates all endpoints. Users can list and end their logins without the scheme `session` too. The inferred type names
 * every route: the console takes the types of its calls from it.
 */
export const createEndpoints = (serves: ServedSchemes, services: AuthServices) => [
  loginEndpoint(services),
  refreshEndpoint(services),
  logoutEndpoint(services),
  ...(serves.keySigned ? [keySignedTokenEndpoint(services)] : []),
  ...(serves.session ? [signInEndpoint(services)] : []),
  ownLoginsEndpoint(services),
  ...endSessionEndpoints(services),
  meEndpoint(services),
  verifyEndpoint(services),
  ...ownSecondFactorsEndpoints(services),
  ...usersEndpoints(services),
  ...rolesEndpoints(services),
  ...resourceServersEndpoints(services),
  userPasswordEndpoint(services),
  ...passwordResetEndpoints(services),
  digestSecretEndpoint(services),
  resetSecondFactorsEndpoint(services),
  ...userSessionsEndpoints(services),
  ...apiKeysEndpoints(services),
  ...servicesEndpoints(services),
  ...clientsEndpoints(services),
  ...consentsEndpoints(services),
  keysEndpoint(services),
  auditEndpoint(services),
  ...keyDocumentEndpoints(services.keyRing),
]
