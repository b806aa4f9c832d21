import { decodeFormText } from '../../../shared/platform/http/content/form-body.ts'
import type { HttpRequest } from '../../../shared/platform/http/request.ts'
import { ProblemError } from '../../../shared/platform/problems/errors.ts'
import { loginClientId } from '../../../shared/protocol/access-token/access-token.ts'
import { authorizationOf } from '../../../shared/protocol/authentication/scheme.ts'
import type { Audit } from '../../audit/audit.ts'
import type { KnownClient } from '../../clients/client-secrets.ts'
import { assertionType } from '../../oauth/client-assertion.ts'
import type { Authenticate, Client, ClientCredentials } from '../../oauth/clients.ts'
import { invalidClient, OAuthError } from '../../oauth/oauth-error.ts'
import { eventAt } from '../request-parts/audited.ts'
import type { AuthServices } from '../services/auth-services.ts'
import type { OAuthForm } from './oauth-endpoint.ts'

/**
 * Reads the client credentials of a request. Undefined for the public client of logins, which may send its name and
 * proves nothing (RFC 6749 §2.1).
 *
 * @throws OAuthError `invalid_request` for several methods at once (RFC 6749 §2.3), `invalid_client`
 */
export function readClientCredentials(request: HttpRequest, form: OAuthForm): ClientCredentials | undefined {
  const basic = authorizationOf(request, 'basic')
  const [clientId, secret, assertion] = ['client_id', 'client_secret', 'client_assertion'].map(form.get)
  const methods = [basic, secret, assertion ?? form.get('client_assertion_type')].filter((value) => value !== undefined)
  if (methods.length > 1 || request.headerLines('authorization').length > 1) {
    throw new OAuthError('invalid_request', 'A client authenticates in one way only.')
  }
  if (basic !== undefined) return ofHeader(basic, clientId)
  if (secret !== undefined) return { method: 'client_secret_post', clientId: form.required('client_id'), secret }
  if (methods.length > 0) {
    if (form.required('client_assertion_type') !== assertionType) throw invalidClient()
    return { method: 'private_key_jwt', clientId, assertion: form.required('client_assertion') }
  }
  return clientId === undefined || clientId === loginClientId ? undefined : { method: 'none', clientId }
}

/** Reads Basic credentials of a client. Id and secret are form-encoded before they are joined (RFC 6749 §2.3.1). */
function ofHeader(credential: string, named: string | undefined): ClientCredentials {
  const [, encodedId = '', encodedSecret = ''] = /^([^:]*):(.*)$/.exec(decodedBasic(credential) ?? '') ?? []
  const [clientId, secret] = [formText(encodedId), formText(encodedSecret)]
  if (named !== undefined && named !== clientId) {
    throw new OAuthError(
      'invalid_request',
      'The parameter client_id names another client than the Authorization header.',
    )
  }
  // Programs that know no other place for the name of a public client send it so.
  return secret === '' ? { method: 'none', clientId } : { method: 'client_secret_basic', clientId, secret }
}

/** Decodes the text behind `Basic`. Undefined when it is not base64. */
export function decodedBasic(credential: string): string | undefined {
  const bytes = Buffer.from(credential, 'base64')
  return unpadded(bytes.toString('base64')) === unpadded(credential) ? bytes.toString('latin1') : undefined
}

const unpadded = (text: string): string => text.replace(/(?<!=)=+$/, '')

function formText(text: string): string {
  try {
    return decodeFormText(text)
  } catch (error) {
    throw error instanceof ProblemError ? invalidClient() : error
  }
}

/**
 * Authenticates a client at the endpoint of the request, in one of the ways of `createClientAuthentication`. A refusal
 * gets an audit entry. @throws as `Authenticate`
 */
async function authenticated<Found extends Client | KnownClient>(
  request: HttpRequest,
  credentials: ClientCredentials,
  { audit, origin, authenticate }: Pick<AuthServices, 'audit' | 'origin'> & { authenticate: Authenticate<Found> },
): Promise<Found> {
  const of = { address: request.peer.address, endpoint: origin + request.path }
  const client = await notingRefusal(request, { credentials, audit }, () => authenticate(credentials, of))
  const caller = 'key' in client ? { userId: client.owner.userId } : { clientId: client.id }
  request.caller = { ...caller, scheme: credentials.method }
  return client
}

/** Authenticates an API key. @throws as `authenticateClient` */
export const authenticateAt = (
  request: HttpRequest,
  credentials: ClientCredentials,
  { authenticateClient: authenticate, audit, origin }: AuthServices,
): Promise<Client> => authenticated(request, credentials, { audit, origin, authenticate })

/** Authenticates an application. @throws as `authenticateApplication` */
export async function authenticateApplicationAt(
  request: HttpRequest,
  credentials: ClientCredentials | undefined,
  { authenticateApplication: authenticate, audit, origin }: AuthServices,
): Promise<KnownClient> {
  if (!credentials) throw invalidClient()
  return authenticated(request, credentials, { audit, origin, authenticate })
}

/** Authenticates an application or an API key, and returns its id. @throws as `authenticateAny` */
export async function authenticatedClient(
  request: HttpRequest,
  credentials: ClientCredentials,
  { authenticateAny: authenticate, audit, origin }: AuthServices,
): Promise<string> {
  const client = await authenticated(request, credentials, { audit, origin, authenticate })
  return 'key' in client ? client.key.id : client.id
}

/** Authenticates a client. A refusal gets an audit entry. @throws as `authenticate` */
export async function notingRefusal<Result>(
  request: HttpRequest,
  { credentials, audit }: { readonly credentials: ClientCredentials; readonly audit: Audit },
  authenticate: () => Promise<Result>,
): Promise<Result> {
  try {
    return await authenticate()
  } catch (error) {
    if (error instanceof ProblemError) {
      const entry = { action: 'client.authenticated', target: credentials.clientId, outcome: error.code }
      await audit.recordRefusal({ ...eventAt(request, entry), scheme: credentials.method })
    }
    throw error
  }
}
