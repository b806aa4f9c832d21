/** POST /oauth/token (RFC 6749 §4.4 and §6; client authentication: §2.3, RFC 7523). */
import * as z from 'zod'
import type { HttpRequest } from '../../../shared/platform/http/request.ts'
import { ProblemError } from '../../../shared/platform/problems/errors.ts'
import { originOf } from '../../../shared/protocol/authentication/application.ts'
import { component, defineCredentialEndpoint, seconds } from '../../../shared/server/endpoints/endpoint.ts'
import { deviceGrantType } from '../../authorization/device-grant.ts'
import { invalidClient, OAuthError } from '../../oauth/oauth-error.ts'
import { auditedRefresh } from '../endpoints/refresh.ts'
import { noCache } from '../endpoints/tokens.ts'
import type { AuthServices } from '../services/auth-services.ts'
import { client, type OAuthForm, oauthBody, oauthDefaults, text } from './oauth-endpoint.ts'
import {
  authenticateApplicationAt,
  authenticateAt,
  authenticatedClient,
  readClientCredentials,
} from './read-client-credentials.ts'
import { grantToService } from './service-grant.ts'

const response = component(
  'OAuthTokens',
  z
    .object({
      access_token: z.string(),
      token_type: z.literal('Bearer'),
      expires_in: seconds,
      scope: z.string().optional(),
      refresh_token: z.string().optional(),
      refresh_expires_in: seconds.optional(),
      id_token: z.string().optional(),
    })
    .meta({ description: 'RFC 6749 §5.1. Durations in seconds.' }),
)

type Grant = (
  request: HttpRequest,
  form: OAuthForm,
  services: AuthServices,
) => Promise<z.output<typeof response.schema>>

/** POST /oauth/token. */
export const tokenEndpoint = (services: AuthServices) =>
  defineCredentialEndpoint({
    ...oauthDefaults,
    path: '/oauth/token',
    id: 'oauthToken',
    summary: 'Get tokens, by a code or a refresh token, as an API key or as a service',
    description:
      'RFC 6749 §4.1.3, §4.4 and §6. An application exchanges the code of a sign-in. An API key is a client: its id and secret by Basic, or in the form. So is a service, ' +
      'whose token is good for routes of services alone.',
    caller: client,
    body: oauthBody({
      grant_type: z.enum(['authorization_code', deviceGrantType, 'refresh_token', 'client_credentials']),
      code: text,
      redirect_uri: text,
      code_verifier: text.meta({ description: 'RFC 7636 §4.5.' }),
      device_code: text.meta({ description: 'RFC 8628 §3.4.' }),
      refresh_token: text,
      scope: text.meta({
        description: 'Names of rights, which narrow what the token may do. Of a refresh: of what was granted.',
      }),
      resource: text.meta({
        description:
          'RFC 8707: the audience of a resource server. The public origins of the auth server and the deal server are ' +
          'for the audience of these two, whose tokens are also issued without `resource`.',
      }),
    }),
    success: { description: 'RFC 6749 §5.1.' },
    response,
    auditsItself: true,
    handle: async ({ request, body: form }) => {
      const grant = grants.get(form.required('grant_type'))
      if (grant) return { body: await grant(request, form, services), headers: noCache }
      throw new OAuthError(
        'unsupported_grant_type',
        'grant_type: Expected authorization_code, device_code (RFC 8628), refresh_token or client_credentials. ' +
          'Users log in with their password at /login.',
      )
    },
  })

/** A grant of which any part may change something. */
const changing =
  (grant: Grant): Grant =>
  (request, form, services) =>
    services.audit.during(originOf(request), undefined, () => grant(request, form, services))

const authorizationCode: Grant = async (request, form, services) => {
  const client = await authenticateApplicationAt(request, readClientCredentials(request, form), services)
  const [code, redirectUri] = [form.required('code'), form.required('redirect_uri')]
  const audience = form.get('resource') === undefined ? undefined : await audienceIn(form, services)
  const facts = await factsOf(request)
  return services.exchangeCode(client, {
    code,
    redirectUri,
    verifier: form.get('code_verifier'),
    audience,
    ...facts,
  })
}

/** A client that has gone repeats the request, and a code works once. @throws ProblemError `malformed-request` */
async function factsOf(request: HttpRequest) {
  if (await request.hasClosed())
    throw new ProblemError('malformed-request', 'The client did not wait for the response.')
  return { clientAddress: request.peer.address, userAgent: request.header('user-agent') }
}

const deviceCode: Grant = async (request, form, services) => {
  const client = await authenticateApplicationAt(request, readClientCredentials(request, form), services)
  const code = form.required('device_code')
  return services.deviceGrant.poll(client, code, await factsOf(request))
}

const refreshToken: Grant = async (request, form, services) => {
  const credentials = readClientCredentials(request, form)
  const token = form.required('refresh_token')
  const client = credentials && (await authenticatedClient(request, credentials, services))
  const sent = form.get('scope')
  const scope = sent === undefined ? undefined : new Set(sent.split(' '))
  if (scope) await services.requireGrantedScope(token, { scope, clientId: client ?? null })
  const audience = await audienceIn(form, services)
  if (form.get('resource') !== undefined) services.requireSameAudience(token, audience)
  return auditedRefresh(request, token, services, { scope, ...(client !== undefined && { clientId: client }) })
}

/** The audience that `resource` chooses; null: that of the pair. @throws OAuthError `invalid_target`; Unavailable */
async function audienceIn(form: OAuthForm, { audiences }: AuthServices): Promise<string | null> {
  const audience = await audiences.choose(form.get('resource'))
  if (audience !== undefined) return audience
  throw new OAuthError('invalid_target', 'resource: No resource server has this audience.')
}

const clientCredentials: Grant = async (request, form, services) => {
  const credentials = readClientCredentials(request, form)
  if (!credentials) throw invalidClient()
  const isKey = services.knownKeys.has(credentials.clientId)
  const ofService = isKey ? undefined : await grantToService(request, { credentials, form }, services)
  if (ofService) return ofService
  const client = await authenticateAt(request, credentials, services)
  const audience = await audienceIn(form, services)
  const { method } = credentials
  return services.grantClientCredentials(client, {
    scope: form.get('scope'),
    audience,
    method,
    origin: originOf(request),
  })
}

const grants: ReadonlyMap<string, Grant> = new Map([
  ['authorization_code', changing(authorizationCode)],
  [deviceGrantType, changing(deviceCode)],
  ['refresh_token', refreshToken],
  ['client_credentials', clientCredentials],
])
