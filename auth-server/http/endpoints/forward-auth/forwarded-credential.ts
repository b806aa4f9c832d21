import type { HttpRequest } from '../../../../shared/platform/http/request.ts'
import { emptyResponse, type HttpResponse, noStore } from '../../../../shared/platform/http/response.ts'
import { requireSecureTransport } from '../../../../shared/platform/http/transport.ts'
import { ProblemError } from '../../../../shared/platform/problems/errors.ts'
import { createAudience } from '../../../../shared/protocol/authentication/audience.ts'
import type { Caller } from '../../../../shared/protocol/authentication/authenticate.ts'
import { isSafeRequest } from '../../../../shared/protocol/authentication/scheme.ts'
import { sharedProblems } from '../../../../shared/protocol/problems/both-servers.ts'
import type { OwnCredential } from '../../../../shared/server/endpoints/endpoint.ts'
import { signInPath } from '../../../../shared/server/pages/page-paths.ts'
import type { OtherServer } from '../../../oauth/audiences.ts'
import type { AuthServices, ReturnOrigins } from '../../services/auth-services.ts'
import { originalRequestOf } from './original-request.ts'

/** The caller of a request to another service, and that service. */
export interface ForwardedCaller {
  readonly caller: Caller
  /** What the parameter `resource` names, as `Audiences.chooseServer` has it. */
  readonly server: OtherServer | null | undefined
  /** True when the request changes nothing. */
  readonly isSafe: boolean
}

/**
 * The credential of the request that a proxy asks about, by any enabled scheme. It is for the pair, or for the service
 * that `resource` names.
 */
export const forwardedCredential = ({ audiences, origins }: AuthServices): OwnCredential<ForwardedCaller> => ({
  kind: 'forwarded',
  refusal: (_request, error) => (error instanceof SignInFirst ? toSignIn(error, origins) : undefined),
  find: async (request, authenticate) => {
    const original = originalRequestOf(request)
    request.asksAbout = original
    requireSecureTransport(original.peer)
    const server = await audiences.chooseServer(request.query.get('resource') ?? undefined)
    try {
      const also = server ? createAudience(server.audience, { isOfPair: false }) : undefined
      original.foreignAudience = also?.name
      return { server, caller: await authenticate(original, also), isSafe: isSafeRequest(original) }
    } catch (error) {
      const location = request.query.get('signIn') === '1' ? placeOf(original, origins) : undefined
      if (location !== undefined && isSignedOut(error)) throw new SignInFirst(location)
      throw isMalformed(error) ? error.withStatus(401) : error
    }
  },
  problems: ['untrusted-proxy', 'invalid-original-request', 'unauthenticated', 'body-not-forwarded', 'cross-site'],
  security: [],
})

/** A browser has no session, and can get one. */
class SignInFirst extends Error {
  override readonly name = 'SignInFirst'
  /** Where the browser goes on. */
  readonly location: string

  constructor(location: string) {
    super('The browser signs in first')
    this.location = location
  }
}

const toSignIn = ({ location }: SignInFirst, { publicOrigins }: ReturnOrigins): HttpResponse => {
  const signIn = `${publicOrigins.auth}${signInPath}?${new URLSearchParams({ return_to: location })}`
  return emptyResponse(303, { ...noStore, location: signIn })
}

/**
 * The URL of a page that a browser goes to, on a public origin of the pair: only there the browser sends the session
 * cookie. Undefined for any other request.
 */
function placeOf(original: HttpRequest, { publicOrigins }: ReturnOrigins): string | undefined {
  const isPage = original.method === 'GET' && original.header('sec-fetch-mode') === 'navigate'
  const { foreignOrigin, path, rawQuery } = original
  if (!isPage || !Object.values(publicOrigins).some((own) => own === foreignOrigin)) return undefined
  return `${foreignOrigin}${path}${rawQuery === '' ? '' : `?${rawQuery}`}`
}

const isSignedOut = (error: unknown): boolean =>
  error instanceof ProblemError && ['unauthenticated', 'invalid-session', 'login-ended'].includes(error.code)

const statuses: Readonly<Record<string, { readonly status: number }>> = sharedProblems

/** True for a credential that elsewhere is refused with 400. nginx knows no other refusals than 401 and 403. */
const isMalformed = (error: unknown): error is ProblemError =>
  error instanceof ProblemError && statuses[error.code]?.status === 400
