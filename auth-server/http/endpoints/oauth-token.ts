/** POST /oauth/token (RFC 6749 §4.4 and §6; client authentication: §2.3, RFC 7523). */
import type { Answer } from '../../../shared/platform/http/answer.ts'
import type { HttpCall } from '../../../shared/platform/http/call.ts'
import type { Route } from '../../../shared/platform/http/server/routes.ts'
import type { GrantClientCredentials } from '../../oauth/client-credentials.ts'
import { invalidClient, OAuthRefused } from '../../oauth/oauth-refused.ts'
import { eventOf } from '../audited.ts'
import { oauthAnswer } from '../oauth/oauth-answers.ts'
import { type OAuthForm, oauthRoute } from '../oauth/oauth-route.ts'
import { authenticateAt, type ClientAtEndpointPorts, presentedClient } from '../oauth/presented-client.ts'
import { describeOAuthToken } from '../openapi/oauth-operations.ts'
import { auditedRefresh, type RefreshEndpointPorts } from './login.ts'

export interface OAuthTokenPorts extends ClientAtEndpointPorts, RefreshEndpointPorts {
  readonly grantClientCredentials: GrantClientCredentials
}

type Grant = (call: HttpCall, form: OAuthForm, ports: OAuthTokenPorts) => Promise<Answer>

export const oauthTokenRoute = (ports: OAuthTokenPorts): Route =>
  oauthRoute({
    path: '/oauth/token',
    operation: describeOAuthToken(),
    handle: async (call, readForm) => {
      const form = await readForm()
      const grant = grants.get(form.required('grant_type'))
      if (grant) return grant(call, form, ports)
      throw new OAuthRefused(
        'unsupported_grant_type',
        'grant_type: expected refresh_token or client_credentials. Users log in with their password at /login.',
      )
    },
  })

const refreshToken: Grant = async (call, form, ports) => {
  const presented = presentedClient(call, form)
  const token = form.required('refresh_token')
  if (presented) {
    await authenticateAt(call, presented, ports)
    throw new OAuthRefused('invalid_grant', 'The refresh token was not issued to this client.')
  }
  if (form.get('scope') !== undefined) {
    throw new OAuthRefused('invalid_scope', 'A refresh takes no scope: the new token may do what the user may.')
  }
  return oauthAnswer(await auditedRefresh(call, token, ports))
}

const clientCredentials: Grant = async (call, form, ports) => {
  const presented = presentedClient(call, form)
  if (!presented) throw invalidClient()
  const client = await authenticateAt(call, presented, ports)
  const granted = await ports.grantClientCredentials(client, form.get('scope'))
  const about = { call, actor: client.owner.username, action: 'token.issued', target: client.key.id }
  await ports.audit.record({ ...eventOf(about, 'succeeded'), scheme: presented.method })
  return oauthAnswer(granted)
}

const grants: ReadonlyMap<string, Grant> = new Map([
  ['refresh_token', refreshToken],
  ['client_credentials', clientCredentials],
])
