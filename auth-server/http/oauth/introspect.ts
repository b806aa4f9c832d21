/** POST /oauth/introspect (RFC 7662), for API keys as clients and for callers of any scheme. */

import * as z from 'zod'
import type { HttpRequest } from '../../../shared/platform/http/request.ts'
import { isId } from '../../../shared/platform/ids.ts'
import { narrowed } from '../../../shared/protocol/authentication/authenticate.ts'
import { authorizationOf } from '../../../shared/protocol/authentication/scheme.ts'
import {
  component,
  defineCredentialEndpoint,
  type OwnCredential,
  seconds,
} from '../../../shared/server/endpoints/endpoint.ts'
import type { Client } from '../../oauth/clients.ts'
import { noCache } from '../endpoints/tokens.ts'
import type { AuthServices } from '../services/auth-services.ts'
import { type OAuthForm, oauthBody, oauthDefaults, readOAuthForm, text } from './oauth-endpoint.ts'
import { responseToRefusal } from './oauth-responses.ts'
import { authenticateAt, decodedBasic, readClientCredentials } from './read-client-credentials.ts'

const response = component(
  'Introspection',
  z
    .object({
      active: z.boolean(),
      scope: z.string().optional().meta({ description: 'Names of rights.' }),
      client_id: z.string().optional(),
      username: z.string().optional(),
      token_type: z.string().optional(),
      exp: seconds.optional(),
      iat: seconds.optional(),
      sub: z.string().optional(),
      sid: z.string().optional().meta({ description: 'The login or API key that the token is of.' }),
      aud: z.union([z.string(), z.array(z.string())]).optional(),
      iss: z.string().optional(),
      jti: z.string().optional(),
      auth_time: seconds.optional().meta({ description: 'When the user logged in.' }),
      amr: z.array(z.string()).optional().meta({ description: 'How the user logged in (RFC 8176).' }),
    })
    .meta({ description: 'RFC 7662 §2.2. An inactive token is `{"active": false}` and nothing else.' }),
)

/** POST /oauth/introspect. */
export const introspectEndpoint = (services: AuthServices) =>
  defineCredentialEndpoint({
    ...oauthDefaults,
    path: '/oauth/introspect',
    id: 'oauthIntrospect',
    summary: 'Ask what a token is worth',
    description: "Shown are tokens of the caller's own user, with the right `token.introspect` those of all.",
    caller: clientOrCaller(services),
    body: oauthBody({ token: z.string(), token_type_hint: text }),
    success: { description: 'RFC 7662 §2.2.' },
    response,
    handle: async ({ caller: inspector, body: form }) => {
      const token = await services.readActiveToken(form.required('token'))
      const isShown = token !== undefined && (inspector.seesAll || token.owner.userId === inspector.userId)
      return { body: isShown ? { active: true, ...token.members } : { active: false }, headers: noCache }
    },
  })

/** The user of the request. It sees its own tokens; with the right `token.introspect` those of all users. */
interface Inspector {
  readonly userId: string
  readonly seesAll: boolean
}

/** A client, or a caller of any scheme. The caller is authenticated before an invalid form is refused. */
const clientOrCaller = (services: AuthServices): OwnCredential<Inspector> => ({
  kind: 'client',
  refusal: responseToRefusal,
  problems: [],
  find: async (request, authenticate) => {
    const form = await readOAuthForm(request).catch(async (error: unknown) => {
      await authenticate(request)
      throw error
    })
    const credentials = isOfClient(request, form) ? readClientCredentials(request, form) : undefined
    if (credentials) return inspectorOf(await authenticateAt(request, credentials, services))
    const { userId, rights } = await authenticate(request)
    return { userId, seesAll: rights.has('token.introspect') }
  },
})

function inspectorOf({ key, owner }: Client): Inspector {
  const rights = narrowed(new Set(owner.rights), key.rights ?? undefined)
  return { userId: owner.userId, seesAll: rights.has('token.introspect') }
}

/** True when a client authenticates. Basic belongs to a client when its user name is the id of an API key. */
function isOfClient(request: HttpRequest, form: OAuthForm): boolean {
  const parameters = ['client_secret', 'client_assertion', 'client_assertion_type']
  if (parameters.some((name) => form.get(name) !== undefined)) return true
  const [name = ''] = (decodedBasic(authorizationOf(request, 'basic') ?? '') ?? '').split(':', 1)
  return isId(name.replaceAll(/%2D/gi, '-').toLowerCase())
}
