/** POST /oauth/revoke (RFC 7009). */
import type { HttpCall } from '../../../shared/http/call.ts'
import type { Route } from '../../../shared/http/routes.ts'
import { loginClientId } from '../../../shared/tokens/access-token.ts'
import type { LogOut } from '../../logins/logout.ts'
import type { EndKeyToken } from '../../oauth/end-key-token.ts'
import { invalidClient, OAuthRefused } from '../../oauth/oauth-refused.ts'
import { eventOf } from '../audited.ts'
import { oauthAnswer } from '../oauth/oauth-answers.ts'
import { type OAuthForm, oauthRoute } from '../oauth/oauth-route.ts'
import { authenticateAt, type ClientAtEndpointPorts, presentedClient } from '../oauth/presented-client.ts'
import { describeOAuthRevoke } from '../openapi/oauth-operations.ts'

export interface OAuthRevokePorts extends ClientAtEndpointPorts {
  readonly logOut: LogOut
  readonly endKeyToken: EndKeyToken
  /** Which client a token was issued to; undefined for what is no token. */
  clientOfToken(token: string): Promise<string | undefined>
}

export const oauthRevokeRoute = (ports: OAuthRevokePorts): Route =>
  oauthRoute({
    path: '/oauth/revoke',
    operation: describeOAuthRevoke(),
    handle: async (call, readForm) => {
      await revoke(call, await readForm(), ports)
      return oauthAnswer({})
    },
  })

/**
 * Either token of a login ends that login, as a logout does: whoever has one of them is the public client of logins. A token of an API key
 * ends alone. What is no token, or has ended, is no error (RFC 7009 §2.2).
 */
async function revoke(call: HttpCall, form: OAuthForm, ports: OAuthRevokePorts): Promise<void> {
  const presented = presentedClient(call, form)
  const token = form.required('token')
  const client = presented && (await authenticateAt(call, presented, ports))
  const clientId = client?.key.id ?? loginClientId
  if (token.startsWith('kst1.'))
    throw notRevocable('Key-signed tokens end with their user being logged out everywhere.')
  const issuedTo = await ports.clientOfToken(token)
  if (issuedTo === undefined) return
  if (issuedTo !== clientId) {
    throw client ? new OAuthRefused('unauthorized_client', 'The token was issued to another client.') : invalidClient()
  }
  const ended = await (client ? ports.endKeyToken(token) : ports.logOut(token))
  if (!ended) return
  const action = client ? 'token.revoked' : 'login.ended'
  const about = { call, actor: ended.username, action, target: ended.id }
  await ports.audit.record(eventOf(about, 'succeeded'))
}

const notRevocable = (description: string) => new OAuthRefused('unsupported_token_type', description)
