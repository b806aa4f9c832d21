/** The endpoints of OAuth (docs/contract/accounts.md#oauth). */

import type { Endpoint } from '../../../shared/server/endpoints/endpoint.ts'
import { introspectEndpoint, type OAuthIntrospectPorts } from './introspect.ts'
import { metadataEndpoints, type OAuthMetadataSettings } from './metadata.ts'
import { type OAuthRevokePorts, revokeEndpoint } from './revoke.ts'
import { type OAuthTokenPorts, tokenEndpoint } from './token.ts'

/** Services that the endpoints of OAuth use. */
export type OAuthEndpointPorts = OAuthTokenPorts & OAuthRevokePorts & OAuthIntrospectPorts

/** Creates the endpoints of OAuth. */
export const oauthEndpoints = (settings: OAuthMetadataSettings, ports: OAuthEndpointPorts): Endpoint[] => [
  tokenEndpoint(ports),
  revokeEndpoint(ports),
  introspectEndpoint(ports),
  ...metadataEndpoints(settings),
]
