/** What OAuth clients use (docs/contract.md#oauth). */
import type { Endpoint } from '../pipeline/endpoint.ts'
import { introspectEndpoint, type OAuthIntrospectPorts } from './introspect.ts'
import { metadataEndpoints, type OAuthMetadataSettings } from './metadata.ts'
import { type OAuthRevokePorts, revokeEndpoint } from './revoke.ts'
import { type OAuthTokenPorts, tokenEndpoint } from './token.ts'

/** What the endpoints of OAuth need. */
export type OAuthEndpointPorts = OAuthTokenPorts & OAuthRevokePorts & OAuthIntrospectPorts

/** The endpoints of OAuth. */
export const oauthEndpoints = (settings: OAuthMetadataSettings, ports: OAuthEndpointPorts): Endpoint[] => [
  tokenEndpoint(ports),
  revokeEndpoint(ports),
  introspectEndpoint(ports),
  ...metadataEndpoints(settings),
]
