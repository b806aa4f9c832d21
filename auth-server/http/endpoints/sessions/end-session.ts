/**
 * DELETE /sessions/{key}. `{key}` is a session key, which is then the credential, or `current`, or the public id of one
 * of the caller's sessions and token logins. Forms of browsers have no DELETE, so they send POST instead.
 */

import type { HttpRequest } from '../../../../shared/platform/http/request.ts'
import { clearSiteData, type HttpResponse } from '../../../../shared/platform/http/response.ts'
import { ProblemError } from '../../../../shared/platform/problems/errors.ts'
import type { Authenticate, Authentication, Caller } from '../../../../shared/protocol/authentication/authenticate.ts'
import type { RefuseCrossSite } from '../../../../shared/protocol/authentication/cross-site.ts'
import { requireOwnAccount } from '../../../../shared/protocol/authentication/own-account.ts'
import type { SessionCookie } from '../../../../shared/protocol/authentication/session/session-cookie.ts'
import { isSessionKey, sessionKeyHash } from '../../../../shared/protocol/authentication/session/session-times.ts'
import { originOf } from '../../../../shared/protocol/entry-changes.ts'
import {
  defineCredentialEndpoint,
  type OwnCredential,
  type Redirect,
} from '../../../../shared/server/endpoints/endpoint.ts'
import type { Audit } from '../../../audit/audit.ts'
import type { SessionOwner } from '../../../logins/session-store.ts'
import { noSuchLogin } from './login-view.ts'
import { endingBody, isOverriddenDelete, type ReturnOrigins } from './session-forms.ts'
import { redirected } from './sessions.ts'

/** Services that the endpoints use. */
export interface EndSessionPorts {
  readonly findCredentials: Authentication['findCredentials']
  readonly refuseCrossSite: RefuseCrossSite
  /** The session with this key and its user, also after its end while it is stored. */
  ownerOf(keyHash: string): Promise<SessionOwner | undefined>
  /** `revoked-before` when the login had ended before. Undefined when the id is no login of this user. */
  revokeLogin(ending: SessionOwner & { reason: 'logout' }): Promise<'revoked' | 'revoked-before' | undefined>
  readonly audit: Audit
  readonly cookie: SessionCookie
  readonly origins: ReturnOrigins
}

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
const ending = (ports: EndSessionPorts) =>
  ({
    path: '/sessions/:key',
    tag: 'sessions',
    status: 204,
    success: { description: 'It has ended.', headers: ['Set-Cookie'] },
    otherResponses: { 303: redirected },
    check: ({ caller: target }: { readonly caller: Target }) => {
      if (target.caller) requireOwnAccount(target.caller)
    },
    handle: async ({ request, caller: target, body }: EndingRequest) => {
      await end(request, target, ports)
      return replyTo(request, target, { ...body, ports })
    },
  }) as const

interface EndingRequest {
  readonly request: HttpRequest
  readonly caller: Target
  readonly body: { readonly returnTo: string | undefined } | undefined
}

/** Creates the endpoints: DELETE, and POST instead of it. */
export const endSessionEndpoints = (ports: EndSessionPorts) => [
  defineCredentialEndpoint({
    ...ending(ports),
    method: 'DELETE',
    id: 'signOut',
    summary: 'End a session or token login',
    description,
    caller: sessionToEnd(ports),
    problems: ['not-found', 'narrowed-credential'],
  }),
  defineCredentialEndpoint({
    ...ending(ports),
    method: 'POST',
    id: 'signOutByForm',
    summary: 'End a session or token login from a form',
    description: `${formDescription} ${description}`,
    caller: ofOverriddenDelete(sessionToEnd(ports)),
    body: endingBody(ports.origins),
    problems: ['not-found', 'narrowed-credential', 'method-not-allowed'],
  }),
]

/** The credential: the session key in the path or the cookie, or else the credential of a caller of any scheme. */
const sessionToEnd = (ports: EndSessionPorts): OwnCredential<Target> => ({
  kind: 'session',
  problems: ['unauthenticated', 'invalid-session', 'cross-site'],
  find: async (request, authenticate) => {
    const key = request.pathParameters.key ?? ''
    if (isSessionKey(key)) return targetOfKey(request, key, ports)
    return (key === 'current' && (await targetOfCookie(request, ports))) || targetOfCaller(request, key, authenticate)
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
async function targetOfKey(request: HttpRequest, key: string, ports: EndSessionPorts): Promise<Target> {
  const { schemes, isForeign, refuseSeveral } = ports.findCredentials(request)
  const hasCookie = schemes.includes('session')
  const isSame = hasCookie && ports.cookie.read(request)[0] === key
  if (isForeign || schemes.length > (isSame ? 1 : 0)) throw await refuseSeveral()
  if (hasCookie) ports.refuseCrossSite(request)
  const owner = await ports.ownerOf(sessionKeyHash(key))
  if (!owner) throw noSuchLogin('of yours')
  return { ...owner, caller: undefined }
}

/** Takes the cookie for the session key when it is the only credential: ending a session that is over is no error. */
async function targetOfCookie(request: HttpRequest, ports: EndSessionPorts): Promise<Target | undefined> {
  const { schemes, isForeign } = ports.findCredentials(request)
  if (isForeign || schemes.length !== 1 || schemes[0] !== 'session') return undefined
  const owner = await ports.ownerOf(sessionKeyHash(ports.cookie.read(request)[0] ?? ''))
  if (!owner) return undefined
  ports.refuseCrossSite(request)
  return { ...owner, caller: undefined }
}

async function targetOfCaller(request: HttpRequest, param: string, authenticate: Authenticate): Promise<Target> {
  const caller = await authenticate(request)
  const id = param === 'current' ? caller.credential.loginId : param
  if (id === undefined) throw noSuchLogin('of yours')
  return { id, username: caller.username, caller }
}

async function end(request: HttpRequest, { caller, id, username }: Target, ports: EndSessionPorts): Promise<void> {
  const revoke = () => ports.revokeLogin({ id, username, reason: 'logout' })
  const was = await ports.audit.during(originOf(request, caller), undefined, revoke)
  if (was === undefined) throw noSuchLogin('of yours')
}

/** Expires the cookie and clears the site data when the ended session is that of the cookie. */
async function replyTo(
  request: HttpRequest,
  { id }: Target,
  { returnTo, ports }: { readonly returnTo?: string | undefined; readonly ports: EndSessionPorts },
): Promise<Redirect | { readonly headers: HttpResponse['headers'] }> {
  const [key] = ports.cookie.read(request)
  const isOfCookie = key !== undefined && (await ports.ownerOf(sessionKeyHash(key)))?.id === id
  const forgotten = isOfCookie && { 'set-cookie': [ports.cookie.expire(request)], ...clearSiteData }
  const headers = { ...forgotten }
  return returnTo === undefined ? { headers } : { status: 303, headers: { ...headers, location: returnTo } }
}
