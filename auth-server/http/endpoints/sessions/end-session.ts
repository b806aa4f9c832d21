/**
 * DELETE /sessions/{key}. `{key}` is a session key, which is then the credential, or `current`, or the public id of one
 * of the caller's sessions and token logins. Forms of browsers have no DELETE, so they send POST instead.
 */

import type { HttpRequest } from '../../../../shared/platform/http/request.ts'
import { clearSiteData, type HttpResponse } from '../../../../shared/platform/http/response.ts'
import { ProblemError } from '../../../../shared/platform/problems/errors.ts'
import { originOf } from '../../../../shared/protocol/authentication/application.ts'
import type { Authenticate, Caller } from '../../../../shared/protocol/authentication/authenticate.ts'
import { requireOwnAccount } from '../../../../shared/protocol/authentication/own-account.ts'
import { isSessionKey, sessionKeyHash } from '../../../../shared/protocol/authentication/session/session-times.ts'
import {
  defineCredentialEndpoint,
  type OwnCredential,
  type Redirect,
} from '../../../../shared/server/endpoints/endpoint.ts'
import type { SessionOwner } from '../../../logins/session-store.ts'
import type { AuthServices } from '../../services/auth-services.ts'
import { noSuchLogin } from './login-view.ts'
import { endingBody, isOverriddenDelete } from './session-forms.ts'
import { redirected } from './sessions.ts'

/** The session or login to end. */
interface Target extends SessionOwner {
  /** Undefined when the session key is the credential. */
  readonly caller: Caller | undefined
}

const description =
  '`{key}` is the session key, which is then the credential; or `current`; or the `id` of one of your logins. ' +
  'One that has ended already is no error.'

const formDescription = 'For browsers: with the field `_method=DELETE`, or with `X-HTTP-Method-Override: DELETE`.'

/** Common members of both endpoints. */
const ending = (services: AuthServices) =>
  ({
    path: '/sessions/:key',
    tag: 'sessions',
    success: { description: 'It has ended.', headers: ['Set-Cookie'] },
    otherResponses: { 303: redirected },
    check: ({ caller: target }: { readonly caller: Target }) => {
      if (target.caller) requireOwnAccount(target.caller)
    },
    handle: async ({ request, caller: target, body }: EndingRequest) => {
      await end(request, target, services)
      return replyTo(request, target, { ...body, services })
    },
  }) as const

interface EndingRequest {
  readonly request: HttpRequest
  readonly caller: Target
  readonly body: { readonly returnTo: string | undefined } | undefined
}

/** Creates the endpoints: DELETE, and POST instead of it. */
export const endSessionEndpoints = (services: AuthServices) => [
  defineCredentialEndpoint({
    ...ending(services),
    method: 'DELETE',
    id: 'signOut',
    summary: 'End a session or token login',
    description,
    caller: sessionToEnd(services),
    problems: ['not-found', 'narrowed-credential'],
  }),
  defineCredentialEndpoint({
    ...ending(services),
    method: 'POST',
    id: 'signOutByForm',
    summary: 'End a session or token login from a form',
    description: `${formDescription} ${description}`,
    caller: ofOverriddenDelete(sessionToEnd(services)),
    body: endingBody(services.origins),
    problems: ['not-found', 'narrowed-credential', 'method-not-allowed'],
  }),
]

/** The credential: the session key in the path or the cookie, or else the credential of a caller of any scheme. */
const sessionToEnd = (services: AuthServices): OwnCredential<Target> => ({
  kind: 'session',
  problems: ['unauthenticated', 'invalid-session', 'cross-site'],
  find: async (request, authenticate) => {
    const key = request.pathParameters.key ?? ''
    if (isSessionKey(key)) return targetOfKey(request, key, services)
    return (
      (key === 'current' && (await targetOfCookie(request, services))) || targetOfCaller(request, key, authenticate)
    )
  },
})

/** Refuses a POST that does not mean DELETE, before any credential is read. */
const ofOverriddenDelete = ({ find, ...credential }: OwnCredential<Target>): OwnCredential<Target> => ({
  ...credential,
  find: async (request, authenticate) => {
    if (await isOverriddenDelete(request)) return find(request, authenticate)
    throw new ProblemError('method-not-allowed', 'A POST here must say that it means DELETE.', {
      headers: { allow: 'DELETE, OPTIONS' },
    })
  },
})

/** The session key in the path is the credential. The request may carry the same key as its cookie. */
async function targetOfKey(request: HttpRequest, key: string, services: AuthServices): Promise<Target> {
  const { schemes, isForeign, refuseSeveral } = services.findCredentials(request)
  const hasCookie = schemes.includes('session')
  const isSame = hasCookie && services.cookie.read(request)[0] === key
  if (isForeign || schemes.length > (isSame ? 1 : 0)) throw await refuseSeveral()
  if (hasCookie) services.refuseCrossSite(request)
  const owner = await services.ownerOf(sessionKeyHash(key))
  if (!owner) throw noSuchLogin('of yours')
  return { ...owner, caller: undefined }
}

/** Takes the cookie for the session key when it is the only credential: ending a session that is over is no error. */
async function targetOfCookie(request: HttpRequest, services: AuthServices): Promise<Target | undefined> {
  const { schemes, isForeign } = services.findCredentials(request)
  if (isForeign || schemes.length !== 1 || schemes[0] !== 'session') return undefined
  const owner = await services.ownerOf(sessionKeyHash(services.cookie.read(request)[0] ?? ''))
  if (!owner) return undefined
  services.refuseCrossSite(request)
  return { ...owner, caller: undefined }
}

async function targetOfCaller(request: HttpRequest, param: string, authenticate: Authenticate): Promise<Target> {
  const caller = await authenticate(request)
  const id = param === 'current' ? caller.credential.loginId : param
  if (id === undefined) throw noSuchLogin('of yours')
  return { id, username: caller.username, caller }
}

async function end(request: HttpRequest, { caller, id, username }: Target, services: AuthServices): Promise<void> {
  const revoke = () => services.revokeLogin({ id, username, reason: 'logout' })
  const was = await services.audit.during(originOf(request, caller), undefined, revoke)
  if (was === undefined) throw noSuchLogin('of yours')
}

/** Expires the cookie and clears the site data when the ended session is that of the cookie. */
async function replyTo(
  request: HttpRequest,
  { id }: Target,
  { returnTo, services }: { readonly returnTo?: string | undefined; readonly services: AuthServices },
): Promise<Redirect | { readonly headers: HttpResponse['headers'] }> {
  const [key] = services.cookie.read(request)
  const isOfCookie = key !== undefined && (await services.ownerOf(sessionKeyHash(key)))?.id === id
  const forgotten = isOfCookie && { 'set-cookie': [services.cookie.expire(request)], ...clearSiteData }
  const headers = { ...forgotten }
  return returnTo === undefined ? { headers } : { status: 303, headers: { ...headers, location: returnTo } }
}
