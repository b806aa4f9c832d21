/** POST /oauth/introspect (RFC 7662): for API keys as clients, and for callers of any scheme. */
import type { HttpCall } from '../../../shared/platform/http/call.ts'
import type { Route } from '../../../shared/platform/http/server/routes.ts'
import { type Authenticate, narrowed } from '../../../shared/protocol/authentication/authenticate.ts'
import { authorizationOf } from '../../../shared/protocol/authentication/scheme.ts'
import { isApiKeyId } from '../../api-keys/api-key-rows.ts'
import type { LiveToken } from '../../oauth/inspect-token.ts'
import { oauthAnswer } from '../oauth/oauth-answers.ts'
import { type OAuthForm, oauthRoute } from '../oauth/oauth-route.ts'
import { authenticateAt, type ClientAtEndpointPorts, decodedBasic, presentedClient } from '../oauth/presented-client.ts'
import { describeOAuthIntrospect } from '../openapi/oauth-operations.ts'

export interface OAuthIntrospectPorts extends ClientAtEndpointPorts {
  readonly authenticate: Authenticate
  readLiveToken(token: string): Promise<LiveToken | undefined>
}

export const oauthIntrospectRoute = (ports: OAuthIntrospectPorts): Route =>
  oauthRoute({
    path: '/oauth/introspect',
    operation: describeOAuthIntrospect(),
    handle: async (call, readForm) => {
      const form = await readForm().catch(async (error: unknown) => {
        await ports.authenticate(call)
        throw error
      })
      const asker = await askerOf(call, form, ports)
      const live = await ports.readLiveToken(form.required('token'))
      const isShown = live !== undefined && (asker.seesAll || live.owner.userId === asker.userId)
      return oauthAnswer(isShown ? { active: true, ...live.members } : { active: false })
    },
  })

/** Who asks: shown are the tokens of the same user, with a right to it those of all. */
interface Asker {
  readonly userId: string
  readonly seesAll: boolean
}

async function askerOf(call: HttpCall, form: OAuthForm, ports: OAuthIntrospectPorts): Promise<Asker> {
  const presented = isOfClient(call, form) ? presentedClient(call, form) : undefined
  if (!presented) {
    const { userId, rights } = await ports.authenticate(call)
    return { userId, seesAll: rights.has('token.introspect') }
  }
  const { key, owner } = await authenticateAt(call, presented, ports)
  const rights = narrowed(new Set(owner.rights), key.rights ?? undefined)
  return { userId: owner.userId, seesAll: rights.has('token.introspect') }
}

/** Basic is of a client when its user name is an API key's id, else of a user. */
function isOfClient(call: HttpCall, form: OAuthForm): boolean {
  const parameters = ['client_secret', 'client_assertion', 'client_assertion_type']
  if (parameters.some((name) => form.get(name) !== undefined)) return true
  const [name = ''] = (decodedBasic(authorizationOf(call, 'basic') ?? '') ?? '').split(':', 1)
  return isApiKeyId(name.replaceAll(/%2D/gi, '-').toLowerCase())
}
