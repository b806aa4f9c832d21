/**
 * DELETE /sessions/{key}: `{key}` is a session key, which is then the credential; `current`; or the public id of a session or token
 * login of the caller's own.
 */

import { type Answer, emptyAnswer, noStore } from '../../../shared/platform/http/answer.ts'
import type { HttpCall } from '../../../shared/platform/http/call.ts'
import { refuseBody } from '../../../shared/platform/http/content/json-body.ts'
import type { Route } from '../../../shared/platform/http/server/routes.ts'
import { requireSecureTransport } from '../../../shared/platform/http/transport.ts'
import { Refused } from '../../../shared/platform/problems/errors.ts'
import type { Authenticate, Authentication } from '../../../shared/protocol/authentication/authenticate.ts'
import type { RefuseCrossSite } from '../../../shared/protocol/authentication/cross-site.ts'
import type { SessionCookie } from '../../../shared/protocol/authentication/session/session-cookie.ts'
import { isSessionKey, sessionKeyHash } from '../../../shared/protocol/authentication/session/session-times.ts'
import type { Audit } from '../../audit/audit.ts'
import type { SessionOwner } from '../../logins/session-store.ts'
import { requireOwnAccount } from '../../users/own-account.ts'
import { type AuditedWork, eventOf } from '../audited.ts'
import type { ReturnOrigins } from '../return-to.ts'
import { readEndingReturn } from './session-bodies.ts'

export interface EndSessionPorts {
  readonly authenticate: Authenticate
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

/** What is to be ended, and what the audit log says of who does it. */
interface Target extends SessionOwner {
  readonly about: Pick<AuditedWork, 'caller' | 'actor'>
}

/** The handler, for DELETE and for what stands for it. */
export function createEndSession(ports: EndSessionPorts): Route['handle'] {
  return async (call) => {
    await call.readBody()
    requireSecureTransport(call.peer)
    const param = call.pathParameters.key ?? ''
    const target = isSessionKey(param)
      ? await targetOfKey(call, param, ports)
      : (param === 'current' && (await targetOfCookie(call, ports))) || (await targetOfCaller(call, param, ports))
    if (call.method === 'DELETE') await refuseBody(call)
    const returnTo = await readEndingReturn(call, ports.origins)
    if (target.about.caller) requireOwnAccount(target.about.caller)
    await end(call, target, ports)
    return answerTo(call, target, { returnTo, ports })
  }
}

/** The key in the path is the credential; the same one may come as a cookie too. */
async function targetOfKey(call: HttpCall, key: string, ports: EndSessionPorts): Promise<Target> {
  const { schemes, isForeign, refuseSeveral } = ports.presented(call)
  const hasCookie = schemes.includes('session')
  const isSame = hasCookie && ports.cookie.read(call)[0] === key
  if (isForeign || schemes.length > (isSame ? 1 : 0)) throw await refuseSeveral()
  if (hasCookie) ports.refuseCrossSite(call)
  const owner = await ports.ownerOf(sessionKeyHash(key))
  if (!owner) throw noSuchLogin()
  return { ...owner, about: { actor: owner.username } }
}

/** Whoever signs out of a session that is over has nothing to be told: its cookie, alone, is taken for the key. */
async function targetOfCookie(call: HttpCall, ports: EndSessionPorts): Promise<Target | undefined> {
  const { schemes, isForeign } = ports.presented(call)
  if (isForeign || schemes.length !== 1 || schemes[0] !== 'session') return undefined
  const owner = await ports.ownerOf(sessionKeyHash(ports.cookie.read(call)[0] ?? ''))
  if (!owner) return undefined
  ports.refuseCrossSite(call)
  return { ...owner, about: { actor: owner.username } }
}

async function targetOfCaller(call: HttpCall, param: string, { authenticate }: EndSessionPorts): Promise<Target> {
  const caller = await authenticate(call)
  const id = param === 'current' ? caller.credential.loginId : param
  if (id === undefined) throw noSuchLogin()
  return { id, username: caller.username, about: { caller } }
}

async function end(call: HttpCall, { about, id, username }: Target, ports: EndSessionPorts): Promise<void> {
  const was = await ports.endByPublicId({ id, username, reason: 'logout' })
  if (was === undefined) throw noSuchLogin()
  if (was === 'ended') {
    await ports.audit.record(eventOf({ call, ...about, action: 'login.ended', target: id }, 'succeeded'))
  }
}

/**
 * What a browser has kept of this origin, which is Keyhold's alone. Not `"cookies"`: that would reach every application below the same
 * registrable domain and end sessions elsewhere (Clear Site Data §3.1).
 */
const clearSiteData = { 'clear-site-data': '"cache", "storage"' } as const

/** The browser forgets the cookie that has just been ended, and no other, and what it has kept of this origin. */
async function answerTo(
  call: HttpCall,
  { id }: Target,
  { returnTo, ports }: { returnTo: string | undefined; ports: EndSessionPorts },
): Promise<Answer> {
  const [key] = ports.cookie.read(call)
  const isOfCookie = key !== undefined && (await ports.ownerOf(sessionKeyHash(key)))?.id === id
  const forgotten = isOfCookie && { 'set-cookie': [ports.cookie.expire(call)], ...clearSiteData }
  const headers = { ...noStore, ...forgotten }
  return returnTo === undefined ? emptyAnswer(204, headers) : emptyAnswer(303, { ...headers, location: returnTo })
}

const noSuchLogin = () => new Refused('not-found', 'There is no such session or login of yours.')
