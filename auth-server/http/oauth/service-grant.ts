/** The grant `client_credentials` for services (docs/contract/services.md#tokens-of-services). */
import type { HttpRequest } from '../../../shared/platform/http/request.ts'
import type { ClientCredentials } from '../../oauth/clients.ts'
import { invalidClient, OAuthError } from '../../oauth/oauth-error.ts'
import { eventAt } from '../request-parts/audited.ts'
import type { AuthServices } from '../services/auth-services.ts'
import type { OAuthForm } from './oauth-endpoint.ts'
import { notingRefusal } from './read-client-credentials.ts'

/** The client credentials and the form of a request. */
interface TokenRequest {
  readonly credentials: ClientCredentials
  readonly form: OAuthForm
}

/**
 * A token of a service; undefined for another client. As for other clients, the secret is compared before the
 * attempt is counted: it is too long to be guessed.
 * @throws OAuthError `invalid_client`, `invalid_target`, `invalid_scope`; ProblemError `too-many-attempts`; Unavailable
 */
export async function grantToService(
  request: HttpRequest,
  { credentials, form }: TokenRequest,
  { services, loginThrottle, audit }: AuthServices,
) {
  if (credentials.method === 'private_key_jwt' || credentials.method === 'none') return undefined
  const { clientId: id, secret, method: scheme } = credentials
  if (!(await services.known(id))) return undefined
  const token = await notingRefusal(request, { credentials, audit }, async () => {
    const proven = await services.bySecret(id, secret)
    const attempt = { account: id, secret: 'client', address: request.peer.address } as const
    await loginThrottle.judge(attempt, proven !== undefined)
    const issued = proven && services.issueToken(proven)
    if (!issued) throw invalidClient()
    return issued
  })
  request.caller = { serviceId: id, scheme }
  if (form.get('resource') !== undefined)
    throw new OAuthError('invalid_target', 'resource: A token of a service is for the auth server alone.')
  if (form.get('scope') !== undefined) throw new OAuthError('invalid_scope', 'scope: A token of a service takes none.')
  await audit.record({ ...eventAt(request, { action: 'token.issued', target: id }), scheme })
  return { access_token: token.token, token_type: 'Bearer', expires_in: token.expiresInSeconds } as const
}
