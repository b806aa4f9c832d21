/** The endpoints of OAuth (docs/contract/accounts.md#oauth). */

import type { HttpRequest } from '../../../shared/platform/http/request.ts'
import type { Endpoint } from '../../../shared/server/endpoints/endpoint.ts'
import type { AuthServices } from '../services/auth-services.ts'
import { authorizeEndpoints } from './authorize.ts'
import { deviceEndpoints } from './device.ts'
import { introspectEndpoint } from './introspect.ts'
import { logoutEndpoints } from './logout.ts'
import { metadataEndpoints, type OAuthMetadataSettings } from './metadata.ts'
import { revokeEndpoint } from './revoke.ts'
import { tokenEndpoint } from './token.ts'
import { userInfoEndpoints } from './user-info.ts'

/** Creates the endpoints of OAuth. */
export const oauthEndpoints = (settings: OAuthMetadataSettings, services: AuthServices): Endpoint[] => [
  tokenEndpoint(services),
  revokeEndpoint(services),
  introspectEndpoint(services),
  ...(settings.schemes.includes('session')
    ? [authorizeEndpoints, deviceEndpoints, logoutEndpoints, userInfoEndpoints].flatMap((create): Endpoint[] =>
        create(services),
      )
    : []),
  ...metadataEndpoints(settings, services.keyRing),
]

const pathsForScripts: ReadonlySet<string> = new Set([
  '/oauth/token',
  '/oauth/par',
  '/oauth/revoke',
  '/oauth/userinfo',
  '/oauth/device_authorization',
])

/** True for requests that read no cookie: scripts of every origin may make them, without credentials. */
export const isForScripts = ({ path }: HttpRequest): boolean => pathsForScripts.has(path)
