/** /sessions: signing in and out by cookie, and one's own logins (CONTRACT sections 2 and 9). */
import { rfc3339 } from '../../../shared/platform/clock.ts'
import { type Answer, emptyAnswer, jsonAnswer, noStore } from '../../../shared/platform/http/answer.ts'
import { type HttpCall, maxOpenBodyBytes } from '../../../shared/platform/http/call.ts'
import { pageParameters, readQuery } from '../../../shared/platform/http/content/query-parameters.ts'
import type { Lists } from '../../../shared/platform/http/pagination/lists.ts'
import type { Route } from '../../../shared/platform/http/server/routes.ts'
import { requireSecureTransport } from '../../../shared/platform/http/transport.ts'
import { Refused } from '../../../shared/platform/problems/errors.ts'
import type { LoginLists } from '../../logins/list-logins.ts'
import type { StartSession } from '../../logins/start-session.ts'
import { requireOwnAccount } from '../../users/own-account.ts'
import { auditDisplaced, audited, eventOf } from '../audited.ts'
import { bearerChallenge } from '../bearer-credential.ts'
import { nameCaller } from '../name-caller.ts'
import { describeSessionsRoute } from '../openapi/session-operations.ts'
import { createEndSession, type EndSessionPorts } from './end-session.ts'
import { representLogin } from './represent-login.ts'
import { isOverriddenDelete, readSessionLogin } from './session-bodies.ts'

export interface SessionsEndpointPorts extends EndSessionPorts {
  readonly startSession: StartSession
  readonly loginLists: LoginLists
  readonly lists: Lists
  /** AUTH_SCHEMES names `session`: there is a way in. */
  readonly isServed: boolean
}

/** The routes. Without the scheme `session` one's logins by token can still be seen and ended. */
export function sessionsRoutes(ports: SessionsEndpointPorts): Route[] {
  const end = createEndSession(ports)
  const route = (method: 'GET' | 'POST' | 'DELETE', path: string, handle: Route['handle']): Route => ({
    methods: [method],
    path,
    maxBodyBytes: maxOpenBodyBytes,
    describe: () => [describeSessionsRoute(method, path)],
    handle,
  })
  return [
    ...(ports.isServed ? [route('POST', '/sessions', (call) => signIn(call, ports))] : []),
    route('GET', '/sessions', (call) => listOwn(call, ports)),
    route('DELETE', '/sessions/:key', end),
    route('POST', '/sessions/:key', async (call) => {
      if (await isOverriddenDelete(call)) return end(call)
      throw new Refused('method-not-allowed', 'A POST here must say that it means DELETE.', {
        headers: { allow: 'DELETE, OPTIONS' },
      })
    }),
  ]
}

async function signIn(call: HttpCall, ports: SessionsEndpointPorts): Promise<Answer> {
  const { audit, cookie, startSession } = ports
  await call.readBody()
  requireSecureTransport(call.peer)
  ports.refuseCrossSite(call)
  const { username, password, returnTo } = await readSessionLogin(call, ports.origins)
  const request = {
    ...{ username, password, clientAddress: call.peer.address, userAgent: call.header('user-agent') },
    replacedKeys: cookie.read(call),
    onDisplaced: auditDisplaced(audit, call),
    proved: nameCaller(call),
  }
  const about = { call, actor: username, action: 'session.started', target: username }
  const { id, key, replaced, ...session } = await audited(audit, about, () => startSession(request)).catch(challenged)
  for (const former of replaced) {
    const ended = { call, actor: former.username, action: 'login.ended', target: former.id }
    await audit.record(eventOf(ended, 'replaced'))
  }
  const headers = { ...noStore, 'set-cookie': [cookie.set(call, key)] }
  if (returnTo !== undefined) return emptyAnswer(303, { ...headers, location: returnTo })
  return jsonAnswer(201, { id, user: session.username, expiresAt: rfc3339(session.expiresAt) }, headers)
}

/** @throws the error, with a challenge where it needs one */
function challenged(error: unknown): never {
  if (!(error instanceof Refused) || error.code !== 'invalid-credentials') throw error
  throw new Refused(error.code, error.message, { headers: bearerChallenge })
}

async function listOwn(call: HttpCall, { authenticate, loginLists, lists }: SessionsEndpointPorts): Promise<Answer> {
  await call.readBody()
  requireSecureTransport(call.peer)
  const caller = await authenticate(call)
  const { userId, credential } = caller
  const list = lists.open(call, { list: 'logins', query: { userId } }, readQuery(call, pageParameters))
  requireOwnAccount(caller)
  const page = await loginLists.list(userId, list.page)
  return list.answer(page, { represent: representLogin(credential.loginId), headers: noStore })
}
