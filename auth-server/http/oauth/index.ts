/** The endpoints of OAuth (docs/contract/accounts.md#oauth). */

import type { Endpoint } from '../../../shared/server/endpoints/endpoint.ts'
import type { AuthServices } from '../services/auth-services.ts'
import { authorizeEndpoints } from './authorize.ts'
import { introspectEndpoint } from './introspect.ts'
import { metadataEndpoints, type OAuthMetadataSettings } from './metadata.ts'
import { revokeEndpoint } from './revoke.ts'
import { tokenEndpoint } from './token.ts'
import { userInfoEndpoints } from './user-info.ts'

/** Creates the endpoints of OAuth. */
export const oauthEndpoints = (settings: OAuthMetadataSettings, services: AuthServices): Endpoint[] => [
  tokenEndpoint(services),
  revokeEndpoint(services),
  introspectEndpoint(services),
  ...(settings.schemes.includes('session') ? [...authorizeEndpoints(services), ...userInfoEndpoints(services)] : []),
  ...metadataEndpoints(settings, services.keyRing),
]
