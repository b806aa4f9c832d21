/** POST /oauth/introspect (RFC 7662): for API keys as clients, and for callers of any scheme. */
import { z } from 'zod'
import type { HttpRequest } from '../../../shared/platform/http/request.ts'
import { narrowed } from '../../../shared/protocol/authentication/authenticate.ts'
import { authorizationOf } from '../../../shared/protocol/authentication/scheme.ts'
import { isApiKeyId } from '../../api-keys/api-key-rows.ts'
import type { Client } from '../../oauth/clients.ts'
import type { LiveToken } from '../../oauth/inspect-token.ts'
import { noCache } from '../endpoints/tokens.ts'
import { component, seconds } from '../pipeline/description.ts'
import { defineCredentialEndpoint } from '../pipeline/endpoint.ts'
import type { OwnCredential } from '../pipeline/own-credential.ts'
import { type OAuthForm, oauthBody, ofOAuth, readOAuthForm, text } from './oauth-endpoint.ts'
import { answerOfRefusal } from './oauth-responses.ts'
import {
  authenticateAt,
  type ClientAtEndpointPorts,
  decodedBasic,
  readClientCredentials,
} from './read-client-credentials.ts'

/** What the endpoint needs. */
export interface OAuthIntrospectPorts extends ClientAtEndpointPorts {
  readLiveToken(token: string): Promise<LiveToken | undefined>
}

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
      aud: z.union([z.string(), z.array(z.string())]).optional(),
      iss: z.string().optional(),
      jti: z.string().optional(),
    })
    .meta({ description: 'RFC 7662 §2.2. An inactive token is `{"active": false}` and nothing else.' }),
)

/** POST /oauth/introspect. */
export const introspectEndpoint = (ports: OAuthIntrospectPorts) =>
  defineCredentialEndpoint({
    ...ofOAuth,
    path: '/oauth/introspect',
    id: 'oauthIntrospect',
    summary: 'Ask what a token is worth',
    description: "Shown are tokens of the caller's own user, with the right `token.introspect` those of all.",
    caller: clientOrCaller(ports),
    body: oauthBody({ token: z.string(), token_type_hint: text }),
    success: { description: 'RFC 7662 §2.2.' },
    response,
    handle: async ({ caller: asker, body: form }) => {
      const live = await ports.readLiveToken(form.required('token'))
      const isShown = live !== undefined && (asker.seesAll || live.owner.userId === asker.userId)
      return { body: isShown ? { active: true, ...live.members } : { active: false }, headers: noCache }
    },
  })

/** Who asks: shown are the tokens of the same user, with a right to it those of all. */
interface Asker {
  readonly userId: string
  readonly seesAll: boolean
}

/** A client, or a caller of any scheme; the caller's credential is looked at before the form is refused. */
const clientOrCaller = (ports: ClientAtEndpointPorts): OwnCredential<Asker> => ({
  kind: 'client',
  refusal: answerOfRefusal,
  problems: [],
  find: async (request, authenticate) => {
    const form = await readOAuthForm(request).catch(async (error: unknown) => {
      await authenticate(request)
      throw error
    })
    const presented = isOfClient(request, form) ? readClientCredentials(request, form) : undefined
    if (presented) return askerOf(await authenticateAt(request, presented, ports))
    const { userId, rights } = await authenticate(request)
    return { userId, seesAll: rights.has('token.introspect') }
  },
})

function askerOf({ key, owner }: Client): Asker {
  const rights = narrowed(new Set(owner.rights), key.rights ?? undefined)
  return { userId: owner.userId, seesAll: rights.has('token.introspect') }
}

/** Basic is of a client when its user name is an API key's id, else of a user. */
function isOfClient(request: HttpRequest, form: OAuthForm): boolean {
  const parameters = ['client_secret', 'client_assertion', 'client_assertion_type']
  if (parameters.some((name) => form.get(name) !== undefined)) return true
  const [name = ''] = (decodedBasic(authorizationOf(request, 'basic') ?? '') ?? '').split(':', 1)
  return isApiKeyId(name.replaceAll(/%2D/gi, '-').toLowerCase())
}
