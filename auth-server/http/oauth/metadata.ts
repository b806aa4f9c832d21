/**
 * GET /.well-known/oauth-authorization-server (RFC 8414) and /.well-known/openid-configuration (OpenID Connect
 * Discovery): only what this server supports.
 */
import * as z from 'zod'
import { cacheableResponse } from '../../../shared/platform/http/cacheable.ts'
import {
  cacheable,
  component,
  definePublicEndpoint,
  type PublicEndpoint,
} from '../../../shared/server/endpoints/endpoint.ts'
import { deviceGrantType } from '../../authorization/device-grant.ts'
import type { KeyRing } from '../../key-ring/key-ring.ts'
import { assertionAlg } from '../../oauth/client-assertion.ts'
import { clientAuthenticationMethods } from '../../oauth/clients.ts'
import { builtInRights } from '../../principals/rights.ts'
import { openIdScopes } from '../../tokens/id-tokens.ts'

/** The settings that the metadata contains. */
export interface OAuthMetadataSettings {
  readonly issuer: string
  readonly publicOrigin: string
  readonly publicOrigins: { readonly deal: string }
  readonly schemes: readonly string[]
}

const ofOAuth = '/.well-known/oauth-authorization-server'
const ofOpenId = '/.well-known/openid-configuration'

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
    authorization_endpoint: z.string().optional(),
    pushed_authorization_request_endpoint: z.string().optional(),
    device_authorization_endpoint: z.string().optional(),
    userinfo_endpoint: z.string().optional(),
    end_session_endpoint: z.string().optional(),
    response_modes_supported: names.optional(),
    code_challenge_methods_supported: names.optional(),
    authorization_response_iss_parameter_supported: z.boolean().optional(),
    prompt_values_supported: names.optional(),
    acr_values_supported: names.optional(),
    subject_types_supported: names.optional(),
    id_token_signing_alg_values_supported: names.optional(),
    claims_supported: names.optional(),
    claims_parameter_supported: z.boolean().optional(),
    request_parameter_supported: z.boolean().optional(),
    request_uri_parameter_supported: z.boolean().optional(),
  })
  .meta({ description: 'RFC 8414 §2, RFC 9728 §4.' })

/** The metadata, at each path where clients look for it (RFC 8414 §3.1; OpenID Connect Discovery §4). */
export function metadataEndpoints(settings: OAuthMetadataSettings, keyRing: KeyRing): PublicEndpoint[] {
  return pathsFor(settings).map(({ path, id }) =>
    definePublicEndpoint({
      path,
      id,
      summary: 'Read what OAuth clients need to know of this server',
      description:
        'The endpoints, grants and algorithms (RFC 8414, OpenID Connect Discovery): a client library configures itself ' +
        'with it.',
      tag: 'tokens',
      ...cacheable,
      status: 200,
      success: { description: 'RFC 8414, OpenID Connect Discovery.', headers: ['ETag'] },
      response: component('OAuthMetadata', schema),
      handle: (request) =>
        cacheableResponse(request, {
          contentType: 'application/json',
          cacheControl: 'public, max-age=300, must-revalidate',
          body: JSON.stringify(metadataOf(settings, keyRing)),
          headers: { 'access-control-allow-origin': '*' },
        }),
    }),
  )
}

/**
 * An issuer with a path has a second path for each document: one ends with it (RFC 8414 §3.1), the other begins with it
 * (OpenID Connect Discovery §4).
 */
function pathsFor({ issuer }: OAuthMetadataSettings): { readonly path: string; readonly id: string }[] {
  const path = URL.canParse(issuer) ? new URL(issuer).pathname.replace(/\/$/, '') : ''
  const own = [
    { path: ofOAuth, id: 'getOAuthMetadata' },
    { path: ofOpenId, id: 'getOpenIdConfiguration' },
  ]
  if (!/^(\/[A-Za-z0-9._~-]+)+$/.test(path)) return own
  return [
    ...own,
    { path: ofOAuth + path, id: 'getOAuthMetadataOfIssuer' },
    { path: path + ofOpenId, id: 'getOpenIdConfigurationOfIssuer' },
  ]
}

function metadataOf({ issuer, publicOrigin, publicOrigins, schemes }: OAuthMetadataSettings, keyRing: KeyRing) {
  const ofClients = [...clientAuthenticationMethods]
  const algorithms = [assertionAlg]
  const at = (path: string) => publicOrigin + path
  const signsPeopleIn = schemes.includes('session')
  return {
    issuer,
    token_endpoint: at('/oauth/token'),
    revocation_endpoint: at('/oauth/revoke'),
    introspection_endpoint: at('/oauth/introspect'),
    jwks_uri: at('/.well-known/jwks.json'),
    // RFC 9728 §4.
    protected_resources: [publicOrigins.deal],
    service_documentation: at('/docs'),
    ...(signsPeopleIn && {
      authorization_endpoint: at('/oauth/authorize'),
      pushed_authorization_request_endpoint: at('/oauth/par'),
      device_authorization_endpoint: at('/oauth/device_authorization'),
      userinfo_endpoint: at('/oauth/userinfo'),
      end_session_endpoint: at('/oauth/logout'),
      response_modes_supported: ['query'],
      code_challenge_methods_supported: ['S256'],
      authorization_response_iss_parameter_supported: true,
      prompt_values_supported: ['none', 'login', 'select_account', 'consent'],
      acr_values_supported: ['pwd', 'mfa'],
      subject_types_supported: ['public'],
      id_token_signing_alg_values_supported: [...new Set(keyRing.jwkSet('jwt').keys.map(({ alg }) => alg))],
      claims_supported: claims,
      claims_parameter_supported: false,
      request_parameter_supported: false,
      request_uri_parameter_supported: false,
    }),
    grant_types_supported: [
      ...(signsPeopleIn ? ['authorization_code', deviceGrantType] : []),
      'refresh_token',
      'client_credentials',
    ],
    response_types_supported: signsPeopleIn ? ['code'] : [],
    scopes_supported: [...(signsPeopleIn ? openIdScopes : []), ...builtInRights],
    token_endpoint_auth_methods_supported: ['none', ...ofClients],
    token_endpoint_auth_signing_alg_values_supported: algorithms,
    revocation_endpoint_auth_methods_supported: ['none', ...ofClients],
    revocation_endpoint_auth_signing_alg_values_supported: algorithms,
    introspection_endpoint_auth_methods_supported: schemes.includes('bearer') ? [...ofClients, 'Bearer'] : ofClients,
    introspection_endpoint_auth_signing_alg_values_supported: algorithms,
  }
}

const claims = [
  'sub',
  'iss',
  'aud',
  'exp',
  'iat',
  'auth_time',
  'nonce',
  'at_hash',
  'amr',
  'acr',
  'sid',
  'preferred_username',
  'name',
  'updated_at',
  'email',
  'email_verified',
  'roles',
]
