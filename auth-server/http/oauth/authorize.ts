/**
 * /oauth/authorize, and the pages that a browser passes on its way to a code
 * (docs/contract/sign-in.md#authorization-request).
 */
import * as z from 'zod'
import { formType, isForm, readForm } from '../../../shared/platform/http/content/form-body.ts'
import type { HttpRequest } from '../../../shared/platform/http/request.ts'
import { jsonSchemaOf } from '../../../shared/platform/openapi/json-schema.ts'
import { checkValue } from '../../../shared/platform/problems/check-value.ts'
import { ProblemError } from '../../../shared/platform/problems/errors.ts'
import { type BodyReader, component, defineCredentialEndpoint } from '../../../shared/server/endpoints/endpoint.ts'
import { AuthorizationError } from '../../authorization/authorization-request.ts'
import type { KnownClient } from '../../clients/client-secrets.ts'
import { OAuthError } from '../../oauth/oauth-error.ts'
import { clientMode } from '../endpoints/clients.ts'
import { noCache } from '../endpoints/tokens.ts'
import { browserOf } from '../request-parts/own-credential.ts'
import type { AuthServices } from '../services/auth-services.ts'
import { client, oauthBody, oauthDefaults, readOAuthForm, text } from './oauth-endpoint.ts'
import { authenticateApplicationAt, readClientCredentials } from './read-client-credentials.ts'

/** A redirect that tells no other site where it came from. */
export const redirectTo = (location: string) => ({
  status: 303 as const,
  headers: { location, 'referrer-policy': 'no-referrer' },
})

const parameters = {
  response_type: text,
  client_id: text,
  redirect_uri: text,
  scope: text.meta({ description: 'openid, profile, email, roles, offline_access, and names of rights.' }),
  state: text,
  nonce: text,
  code_challenge: text,
  code_challenge_method: text,
  resource: text,
  prompt: text,
  max_age: text,
  login_hint: text,
  id_token_hint: text,
  request_uri: text,
}

/** The parameters of a form as they came, also those that came twice. */
export const parametersOfForm = (members: z.ZodRawShape): BodyReader<URLSearchParams> => ({
  read: async (request) => {
    if (!isForm(request)) throw new ProblemError('unsupported-media-type', `Send the body as ${formType}.`)
    return new URLSearchParams((await request.readBody()).toString())
  },
  describe: () => ({ schema: jsonSchemaOf(z.object(members)), required: true, mediaTypes: [formType] }),
})

/** The fields of a form, each once, checked by this schema. */
export const formBody = <Schema extends z.ZodType>(schema: Schema): BodyReader<z.output<Schema>> => ({
  read: async (request) => checkValue(schema, Object.fromEntries(await readForm(request))),
  describe: () => ({ schema: jsonSchemaOf(schema), required: true, mediaTypes: [formType] }),
})

const common = {
  tag: 'clients',
  status: 303,
  success: { description: 'The browser goes on: to the client, to signing in, or to consent.', headers: ['Location'] },
  problems: ['invalid-authorization-request'],
} as const

const authorize = ({ authorization, findCredentials }: AuthServices) =>
  defineCredentialEndpoint({
    ...common,
    method: 'GET',
    path: '/oauth/authorize',
    id: 'oauthAuthorize',
    summary: 'Sign a person in to an application',
    description:
      'RFC 6749 §4.1.1, RFC 7636, OpenID Connect Core §3.1.2.1. The parameters are those of the POST, in the query. ' +
      'Nothing changes: the code is sealed, and stored nowhere.',
    caller: browserOf(findCredentials, false),
    handle: async ({ request, caller }) => redirectTo(await authorization.authorize(request.query, caller)),
  })

/** A form of another site brings no `Lax` cookie, so the request goes on by a GET that does. */
const authorizeByForm = ({ authorization }: AuthServices) =>
  defineCredentialEndpoint({
    ...common,
    method: 'POST',
    path: '/oauth/authorize',
    id: 'oauthAuthorizeByForm',
    summary: 'Sign a person in to an application, by a form',
    description: 'OpenID Connect Core §3.1.2.1. Answers with a redirect to the GET.',
    caller: nobody,
    body: parametersOfForm(parameters),
    handle: async ({ body }) => redirectTo(await authorization.begin(body)),
  })

/** Whoever it is: the request itself is what counts. */
export const nobody = { kind: 'browser', find: () => undefined, problems: [], security: [] } as const

/** Who asks a user, and for what. */
export const askedMembers = {
  client: z.object({ name: z.string(), firstParty: z.boolean(), mode: clientMode }),
  rights: z
    .array(z.object({ name: z.string(), description: z.string() }))
    .nullable()
    .meta({ description: 'Null: all that the user may do.' }),
  scopes: z.array(z.string()),
}

/** The client as `askedMembers` have it. */
export const askingClient = ({ name, firstParty, mode }: KnownClient) => ({
  name,
  firstParty,
  mode,
})

const askedConsent = component(
  'AskedConsent',
  z.object({
    ...askedMembers,
    target: z.string().meta({ description: 'The origin that the answer goes to, or the scheme of an application.' }),
    loginHint: z.string().nullable(),
  }),
)

const describeRequest = ({ authorization }: AuthServices) =>
  defineCredentialEndpoint({
    method: 'GET',
    path: '/oauth/authorize/request',
    id: 'describeAuthorizationRequest',
    summary: 'Read what an authorization request asks for',
    description: 'For the pages on which users sign in and consent: who asks, for what, and where the answer goes.',
    tag: 'clients',
    caller: nobody,
    query: z.object({ client_id: z.string(), request_uri: z.string() }),
    status: 200,
    success: { description: 'The request.' },
    response: askedConsent,
    problems: ['invalid-authorization-request'],
    handle: async ({ request }) => {
      const { client: of, target, rights, scopes, loginHint } = await authorization.describe(request.query)
      return { body: { client: askingClient(of), target, rights, scopes, loginHint } }
    },
  })

const decisionSchema = z.strictObject({
  client_id: z.string(),
  request_uri: z.string(),
  decision: z.enum(['allow', 'refuse']),
})

const decideRequest = ({ authorization, findCredentials }: AuthServices) =>
  defineCredentialEndpoint({
    ...common,
    method: 'POST',
    path: '/oauth/authorize/decision',
    id: 'decideAuthorizationRequest',
    summary: 'Let an application do what it asks for, or refuse it',
    description: 'The form of the page that asks for consent. The request is bound to the session that was asked.',
    caller: browserOf(findCredentials, true),
    body: formBody(decisionSchema),
    handle: async ({ caller, body: { decision, ...sent } }) =>
      redirectTo(await authorization.answer(new URLSearchParams(sent), caller, decision === 'allow')),
  })

const pushRequest = (services: AuthServices) =>
  defineCredentialEndpoint({
    ...oauthDefaults,
    path: '/oauth/par',
    id: 'oauthPushRequest',
    summary: 'Push an authorization request',
    description: 'RFC 9126. The client authenticates as at `/oauth/token`. The `request_uri` is good for a minute.',
    tag: 'clients',
    caller: client,
    body: { ...oauthBody(parameters), read: pushedOf },
    status: 201,
    success: { description: 'The request is right.' },
    response: component('PushedRequest', z.object({ request_uri: z.string(), expires_in: z.int() })),
    handle: async ({ request, body }) => {
      const credentials = readClientCredentials(request, body.form)
      const application = await authenticateApplicationAt(request, credentials, services)
      const { requestUri, expiresIn } = await services.authorization
        .push(body.parameters, application)
        .catch((error: unknown) => {
          throw error instanceof AuthorizationError ? new OAuthError(error.code, error.message) : error
        })
      return { body: { request_uri: requestUri, expires_in: expiresIn }, headers: noCache }
    },
  })

/** Both forms of the parameters: with those that authenticate the client, and as a browser would send them. */
async function pushedOf(request: HttpRequest) {
  const form = await readOAuthForm(request)
  const sent = new URLSearchParams((await request.readBody()).toString())
  for (const name of ['client_secret', 'client_assertion', 'client_assertion_type']) sent.delete(name)
  return { form, parameters: sent }
}

/** The endpoints of authorization requests. They need the session cookie. */
export const authorizeEndpoints = (services: AuthServices) => [
  authorize(services),
  authorizeByForm(services),
  describeRequest(services),
  decideRequest(services),
  pushRequest(services),
]
