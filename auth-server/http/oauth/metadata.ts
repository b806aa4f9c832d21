/** GET /.well-known/oauth-authorization-server (RFC 8414): only what this server supports. */
import * as z from 'zod'
import { cacheableResponse } from '../../../shared/platform/http/cacheable.ts'
import {
  cacheable,
  component,
  definePublicEndpoint,
  type PublicEndpoint,
} from '../../../shared/server/endpoints/endpoint.ts'
import { assertionAlg } from '../../oauth/client-assertion.ts'
import { clientAuthenticationMethods } from '../../oauth/clients.ts'
import { builtInRights } from '../../principals/rights.ts'

/** The settings that the metadata contains. */
export interface OAuthMetadataSettings {
  readonly issuer: string
  readonly publicOrigin: string
  readonly publicOrigins: { readonly deal: string }
  readonly schemes: readonly string[]
}

const wellKnown = '/.well-known/oauth-authorization-server'

const names = z.array(z.string())

const schema = z
  .object({
    issuer: z.string(),
    token_endpoint: z.string(),
    revocation_endpoint: z.string(),
    introspection_endpoint: z.string(),
    jwks_uri: z.string(),
    protected_resources: names,
    service_documentation: z.string(),
    grant_types_supported: names,
    response_types_supported: names,
    scopes_supported: names,
    token_endpoint_auth_methods_supported: names,
    token_endpoint_auth_signing_alg_values_supported: names,
    revocation_endpoint_auth_methods_supported: names,
    revocation_endpoint_auth_signing_alg_values_supported: names,
    introspection_endpoint_auth_methods_supported: names,
    introspection_endpoint_auth_signing_alg_values_supported: names,
  })
  .meta({ description: 'RFC 8414 §2, RFC 9728 §4.' })

/** The metadata, at each path where clients look for it (RFC 8414 §3.1). */
export function metadataEndpoints(settings: OAuthMetadataSettings): PublicEndpoint[] {
  const body = JSON.stringify(metadataOf(settings))
  return pathsFor(settings).map((path) =>
    definePublicEndpoint({
      path,
      id: path === wellKnown ? 'getOAuthMetadata' : 'getOAuthMetadataOfIssuer',
      summary: 'Read what OAuth clients need to know of this server',
      description: 'The endpoints, grants and algorithms (RFC 8414): a client library configures itself with it.',
      tag: 'tokens',
      ...cacheable,
      status: 200,
      success: { description: 'RFC 8414.', headers: ['ETag'] },
      response: component('OAuthMetadata', schema),
      handle: (request) =>
        cacheableResponse(request, {
          contentType: 'application/json',
          cacheControl: 'public, max-age=300, must-revalidate',
          body,
          headers: { 'access-control-allow-origin': '*' },
        }),
    }),
  )
}

/** The metadata of an issuer with a path has a second path, which ends with it (RFC 8414 §3.1). */
function pathsFor({ issuer }: OAuthMetadataSettings): string[] {
  const path = URL.canParse(issuer) ? new URL(issuer).pathname.replace(/\/$/, '') : ''
  return /^(\/[A-Za-z0-9._~-]+)+$/.test(path) ? [wellKnown, wellKnown + path] : [wellKnown]
}

function metadataOf({ issuer, publicOrigin, publicOrigins, schemes }: OAuthMetadataSettings) {
  const ofClients = [...clientAuthenticationMethods]
  const algorithms = [assertionAlg]
  return {
    issuer,
    token_endpoint: `${publicOrigin}/oauth/token`,
    revocation_endpoint: `${publicOrigin}/oauth/revoke`,
    introspection_endpoint: `${publicOrigin}/oauth/introspect`,
    jwks_uri: `${publicOrigin}/.well-known/jwks.json`,
    // RFC 9728 §4.
    protected_resources: [publicOrigins.deal],
    service_documentation: `${publicOrigin}/docs`,
    grant_types_supported: ['refresh_token', 'client_credentials'],
    response_types_supported: [],
    scopes_supported: builtInRights,
    token_endpoint_auth_methods_supported: ['none', ...ofClients],
    token_endpoint_auth_signing_alg_values_supported: algorithms,
    revocation_endpoint_auth_methods_supported: ['none', ...ofClients],
    revocation_endpoint_auth_signing_alg_values_supported: algorithms,
    introspection_endpoint_auth_methods_supported: schemes.includes('bearer') ? [...ofClients, 'Bearer'] : ofClients,
    introspection_endpoint_auth_signing_alg_values_supported: algorithms,
  }
}
