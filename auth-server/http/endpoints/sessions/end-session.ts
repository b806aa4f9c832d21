/**
 * DELETE /sessions/{key}: `{key}` is a session key, which is then the credential; `current`; or the public id of a
 * session or token login of the caller's own. POST stands for it where browsers have no DELETE.
 */

import type { HttpCall } from '../../../../shared/platform/http/request.ts'
import type { Answer } from '../../../../shared/platform/http/response.ts'
import { Refused } from '../../../../shared/platform/problems/errors.ts'
import type { Authenticate, Authentication, Caller } from '../../../../shared/protocol/authentication/authenticate.ts'
import type { RefuseCrossSite } from '../../../../shared/protocol/authentication/cross-site.ts'
import type { SessionCookie } from '../../../../shared/protocol/authentication/session/session-cookie.ts'
import { isSessionKey, sessionKeyHash } from '../../../../shared/protocol/authentication/session/session-times.ts'
import { callerProblems } from '../../../../shared/protocol/openapi/caller-problems.ts'
import type { Audit } from '../../../audit/audit.ts'
import type { SessionOwner } from '../../../logins/session-store.ts'
import { requireOwnAccount } from '../../../users/own-account.ts'
import { eventOf } from '../../pipeline/audited.ts'
import { defineCredentialEndpoint, type Endpoint, type Redirect } from '../../pipeline/endpoint.ts'
import type { OwnCredential } from '../../pipeline/own-credential.ts'
import { noSuchLogin } from './login-view.ts'
import type { ReturnOrigins } from './return-to.ts'
import { endingBody, isOverriddenDelete } from './session-forms.ts'
import { goesOn } from './sessions.ts'

/** What ending a session needs. */
export interface EndSessionPorts {
  readonly presented: Authentication['presented']
  readonly refuseCrossSite: RefuseCrossSite
  /** Whose session has this key, however dead, while it is remembered. */
  ownerOf(keyHash: string): Promise<SessionOwner | undefined>
  /** `dead` when it had ended before, undefined when it is no id of this user's. */
  endByPublicId(ending: SessionOwner & { reason: 'logout' }): Promise<'ended' | 'dead' | undefined>
  readonly audit: Audit
  readonly cookie: SessionCookie
  readonly origins: ReturnOrigins
}

/** What is to be ended. */
interface Target extends SessionOwner {
  /** Undefined where the session's own key is the credential. */
  readonly caller: Caller | undefined
}

const description =
  '`{key}` is the session key, which is then the credential; or `current`; or the `id` of one of your logins. One that has ended already is no error.'

/** What both methods have in common. */
const ending = (ports: EndSessionPorts) =>
  ({
    path: '/sessions/:key',
    tag: 'sessions',
    status: 204,
    answer: { description: 'It has ended.', headers: ['Set-Cookie'] },
    otherAnswers: { 303: goesOn },
    check: ({ caller: target }: { readonly caller: Target }) => {
      if (target.caller) requireOwnAccount(target.caller)
    },
    handle: async ({ call, caller: target, body }: EndingRequest) => {
      await end(call, target, ports)
      return answerTo(call, target, { ...body, ports })
    },
  }) as const

interface EndingRequest {
  readonly call: HttpCall
  readonly caller: Target
  readonly body: { readonly returnTo: string | undefined } | undefined
}

/** DELETE, and POST for it. */
export const endSessionEndpoints = (ports: EndSessionPorts): Endpoint[] => [
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
    description: `For browsers: with the field \`_method=DELETE\`, or with \`X-HTTP-Method-Override: DELETE\`. ${description}`,
    caller: ofOverriddenDelete(sessionToEnd(ports)),
    body: endingBody(ports.origins),
    problems: ['not-found', 'narrowed-credential', 'method-not-allowed'],
  }),
]

/** The session key in the path or the cookie is the credential, else the caller has one of any scheme. */
const sessionToEnd = (ports: EndSessionPorts): OwnCredential<Target> => ({
  kind: 'session',
  problems: callerProblems,
  find: async (call, authenticate) => {
    const key = call.pathParameters.key ?? ''
    if (isSessionKey(key)) return targetOfKey(call, key, ports)
    return (key === 'current' && (await targetOfCookie(call, ports))) || targetOfCaller(call, key, authenticate)
  },
})

/** A POST without that meaning is of no use here, whoever sends it. */
const ofOverriddenDelete = ({ find, ...credential }: OwnCredential<Target>): OwnCredential<Target> => ({
  ...credential,
  find: async (call, authenticate) => {
    if (await isOverriddenDelete(call)) return find(call, authenticate)
    throw new Refused('method-not-allowed', 'A POST here must say that it means DELETE.', {
      headers: { allow: 'DELETE, OPTIONS' },
    })
  },
})

/** The key in the path is the credential; the same one may come as a cookie too. */
async function targetOfKey(call: HttpCall, key: string, ports: EndSessionPorts): Promise<Target> {
  const { schemes, isForeign, refuseSeveral } = ports.presented(call)
  const hasCookie = schemes.includes('session')
  const isSame = hasCookie && ports.cookie.read(call)[0] === key
  if (isForeign || schemes.length > (isSame ? 1 : 0)) throw await refuseSeveral()
  if (hasCookie) ports.refuseCrossSite(call)
  const owner = await ports.ownerOf(sessionKeyHash(key))
  if (!owner) throw noSuchLogin('of yours')
  return { ...owner, caller: undefined }
}

/** Whoever signs out of a session that is over has nothing to be told: its cookie, alone, is taken for the key. */
async function targetOfCookie(call: HttpCall, ports: EndSessionPorts): Promise<Target | undefined> {
  const { schemes, isForeign } = ports.presented(call)
  if (isForeign || schemes.length !== 1 || schemes[0] !== 'session') return undefined
  const owner = await ports.ownerOf(sessionKeyHash(ports.cookie.read(call)[0] ?? ''))
  if (!owner) return undefined
  ports.refuseCrossSite(call)
  return { ...owner, caller: undefined }
}

async function targetOfCaller(call: HttpCall, param: string, authenticate: Authenticate): Promise<Target> {
  const caller = await authenticate(call)
  const id = param === 'current' ? caller.credential.loginId : param
  if (id === undefined) throw noSuchLogin('of yours')
  return { id, username: caller.username, caller }
}

async function end(call: HttpCall, { caller, id, username }: Target, ports: EndSessionPorts): Promise<void> {
  const was = await ports.endByPublicId({ id, username, reason: 'logout' })
  if (was === undefined) throw noSuchLogin('of yours')
  if (was === 'ended') {
    const about = { call, caller, actor: username, action: 'login.ended', target: id }
    await ports.audit.record(eventOf(about, 'succeeded'))
  }
}

/**
 * What a browser has kept of this origin, which is Keyhold's alone. Not `"cookies"`: that would reach every application
 * below the same registrable domain and end sessions elsewhere (Clear Site Data §3.1).
 */
const clearSiteData = { 'clear-site-data': '"cache", "storage"' } as const

/** The browser forgets the cookie that has just been ended, and no other, and what it has kept of this origin. */
async function answerTo(
  call: HttpCall,
  { id }: Target,
  { returnTo, ports }: { readonly returnTo?: string | undefined; readonly ports: EndSessionPorts },
): Promise<Redirect | { readonly headers: Answer['headers'] }> {
  const [key] = ports.cookie.read(call)
  const isOfCookie = key !== undefined && (await ports.ownerOf(sessionKeyHash(key)))?.id === id
  const forgotten = isOfCookie && { 'set-cookie': [ports.cookie.expire(call)], ...clearSiteData }
  const headers = { ...forgotten }
  return returnTo === undefined ? { headers } : { status: 303, headers: { ...headers, location: returnTo } }
}
