/** POST /oauth/revoke (RFC 7009). */
import * as z from 'zod'
import type { HttpRequest } from '../../../shared/platform/http/request.ts'
import { loginClientId } from '../../../shared/protocol/access-token/access-token.ts'
import { defineCredentialEndpoint } from '../../../shared/server/endpoints/endpoint.ts'
import { invalidClient, OAuthError } from '../../oauth/oauth-error.ts'
import { noCache } from '../endpoints/tokens.ts'
import type { AuthServices } from '../services/auth-services.ts'
import { client, type OAuthForm, oauthBody, oauthDefaults, text } from './oauth-endpoint.ts'
import { authenticatedClient, readClientCredentials } from './read-client-credentials.ts'

/** POST /oauth/revoke. */
export const revokeEndpoint = (services: AuthServices) =>
  defineCredentialEndpoint({
    ...oauthDefaults,
    path: '/oauth/revoke',
    id: 'oauthRevoke',
    summary: 'End a login by either of its tokens, or one token of an API key, or one key-signed token',
    description:
      'RFC 7009. The answer is the same for an unknown token: a client learns nothing about tokens of others.',
    caller: client,
    body: oauthBody({ token: z.string(), token_type_hint: text }),
    success: { description: 'It is no token, or none any more.' },
    response: { schema: z.object({}) },
    handle: async ({ request, body: form }) => {
      await revoke(request, form, services)
      return { body: {}, headers: noCache }
    },
  })

/**
 * Both tokens of a login end that login, as a logout does. The holder of such a token is the public client of logins.
 * The same client may revoke a key-signed token. A key-signed token and a token of an API key are revoked alone. A text
 * that is no token and a token that was revoked before are no error (RFC 7009 §2.2).
 */
async function revoke(request: HttpRequest, form: OAuthForm, services: AuthServices): Promise<void> {
  const credentials = readClientCredentials(request, form)
  const token = form.required('token')
  const client = credentials && (await authenticatedClient(request, credentials, services))
  const clientId = client ?? loginClientId
  const issue = await services.issueOfToken(token)
  if (issue === undefined) return
  if (issue.clientId !== clientId) {
    throw client ? new OAuthError('unauthorized_client', 'The token was issued to another client.') : invalidClient()
  }
  await (issue.ends === 'login' ? services.logOut(token) : services.revokeToken(token))
}
