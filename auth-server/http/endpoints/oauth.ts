/** What OAuth clients use (CONTRACT sections 2 and 9). */
import type { Route } from '../../../shared/platform/http/server/routes.ts'
import { type OAuthIntrospectPorts, oauthIntrospectRoute } from './oauth-introspect.ts'
import { type OAuthMetadataSettings, oauthMetadataRoutes } from './oauth-metadata.ts'
import { type OAuthRevokePorts, oauthRevokeRoute } from './oauth-revoke.ts'
import { type OAuthTokenPorts, oauthTokenRoute } from './oauth-token.ts'

export type OAuthEndpointPorts = OAuthTokenPorts & OAuthRevokePorts & OAuthIntrospectPorts

export const oauthRoutes = (settings: OAuthMetadataSettings, ports: OAuthEndpointPorts): Route[] => [
  oauthTokenRoute(ports),
  oauthRevokeRoute(ports),
  oauthIntrospectRoute(ports),
  ...oauthMetadataRoutes(settings),
]
