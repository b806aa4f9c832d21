/** /users/{username}/sessions: the logins of any user, for administrators (CONTRACT section 2). */

import { emptyAnswer, jsonAnswer, noStore } from '../../../shared/platform/http/answer.ts'
import type { HttpCall } from '../../../shared/platform/http/call.ts'
import { refuseBody } from '../../../shared/platform/http/content/json-body.ts'
import { pageParameters, readQuery } from '../../../shared/platform/http/content/query-parameters.ts'
import type { Lists } from '../../../shared/platform/http/pagination/lists.ts'
import type { Route } from '../../../shared/platform/http/server/routes.ts'
import { requireSecureTransport } from '../../../shared/platform/http/transport.ts'
import { Refused } from '../../../shared/platform/problems/errors.ts'
import { type Authenticate, type Caller, requireRights } from '../../../shared/protocol/authentication/authenticate.ts'
import type { Audit } from '../../audit/audit.ts'
import type { LoginLists } from '../../logins/list-logins.ts'
import type { SessionOwner } from '../../logins/session-store.ts'
import type { Users } from '../../users/users.ts'
import { audited, eventOf } from '../audited.ts'
import { describeSessionsRoute } from '../openapi/session-operations.ts'
import { representLogin } from './represent-login.ts'

export interface UserSessionsPorts {
  readonly authenticate: Authenticate
  readonly users: Pick<Users, 'read'>
  readonly loginLists: LoginLists
  readonly lists: Lists
  readonly audit: Audit
  endByPublicId(ending: SessionOwner & { reason: 'administrator' }): Promise<'ended' | 'dead' | undefined>
  endAllLoginsOf(ending: { username: string; reason: 'administrator' }): Promise<void>
}

export function userSessionsRoutes(ports: UserSessionsPorts): Route[] {
  const { users, loginLists, lists, audit } = ports
  const administer = (
    method: 'GET' | 'DELETE',
    path: string,
    handle: (call: HttpCall, caller: Caller) => ReturnType<Route['handle']>,
  ): Route => ({
    methods: [method],
    path,
    describe: () => [describeSessionsRoute(method, path)],
    handle: async (call) => {
      await call.readBody()
      requireSecureTransport(call.peer)
      const caller = await ports.authenticate(call)
      if (method === 'DELETE') await refuseBody(call)
      return handle(call, caller)
    },
  })
  const right = ['session.manage']
  return [
    administer('GET', '/users/:username/sessions', async (call, caller) => {
      const parameters = readQuery(call, pageParameters)
      requireRights(caller, right)
      const { id: userId } = await users.read(nameOf(call))
      const list = lists.open(call, { list: 'logins', query: { userId } }, parameters)
      const page = await loginLists.list(userId, list.page)
      return list.answer(page, { represent: representLogin(caller.credential.loginId), headers: noStore })
    }),
    administer('DELETE', '/users/:username/sessions', async (call, caller) => {
      const username = nameOf(call)
      await audited(audit, { call, caller, action: 'user.logins-ended', target: username }, async () => {
        requireRights(caller, right)
        await ports.endAllLoginsOf({ username, reason: 'administrator' })
      })
      return emptyAnswer(204, noStore)
    }),
    administer('GET', '/users/:username/sessions/:id', async (call, caller) => {
      requireRights(caller, right)
      const { id: userId } = await users.read(nameOf(call))
      const login = await loginLists.find(userId, idOf(call))
      if (!login) throw noSuchLogin()
      return jsonAnswer(200, representLogin(caller.credential.loginId)(login), noStore)
    }),
    administer('DELETE', '/users/:username/sessions/:id', async (call, caller) => {
      requireRights(caller, right)
      const ending = { username: nameOf(call), id: idOf(call), reason: 'administrator' } as const
      const was = await ports.endByPublicId(ending)
      if (was === undefined) throw noSuchLogin()
      if (was === 'ended') {
        await audit.record(eventOf({ call, caller, action: 'login.ended', target: ending.id }, 'succeeded'))
      }
      return emptyAnswer(204, noStore)
    }),
  ]
}

const nameOf = (call: HttpCall): string => call.pathParameters.username ?? ''
const idOf = (call: HttpCall): string => call.pathParameters.id ?? ''
const noSuchLogin = () => new Refused('not-found', 'There is no such session or login of this user.')
