/** The endpoints of OAuth (docs/contract/accounts.md#oauth). */

import type { Endpoint } from '../../../shared/server/endpoints/endpoint.ts'
import type { AuthServices } from '../services/auth-services.ts'
import { introspectEndpoint } from './introspect.ts'
import { metadataEndpoints, type OAuthMetadataSettings } from './metadata.ts'
import { revokeEndpoint } from './revoke.ts'
import { tokenEndpoint } from './token.ts'

/** Creates the endpoints of OAuth. */
export const oauthEndpoints = (settings: OAuthMetadataSettings, services: AuthServices): Endpoint[] => [
  tokenEndpoint(services),
  revokeEndpoint(services),
  introspectEndpoint(services),
  ...metadataEndpoints(settings),
]
