/** /users: administration of users, and each user's own password (CONTRACT sections 2 and 9). */
import { rfc3339 } from '../../../shared/clock.ts'
import { Refused } from '../../../shared/errors.ts'
import { type Answer, emptyAnswer, jsonAnswer, noStore } from '../../../shared/http/answer.ts'
import type { HttpCall } from '../../../shared/http/call.ts'
import { readBodyAs } from '../../../shared/http/json-body.ts'
import type { Lists } from '../../../shared/http/lists.ts'
import { pageParameters, readQuery } from '../../../shared/http/query-parameters.ts'
import type { Method, Route } from '../../../shared/http/routes.ts'
import { requireSecureTransport } from '../../../shared/http/transport.ts'
import { foldUsername } from '../../../shared/principals/record.ts'
import { type Authenticate, type Caller, requireRights } from '../../../shared/schemes/authenticate.ts'
import type { PasswordChanges } from '../../logins/change-password.ts'
import type { User } from '../../users/user.ts'
import type { Users } from '../../users/users.ts'
import { describeUsersRoute } from '../openapi/user-operations.ts'
import { creationSchema, passwordSchema, patchSchema } from './user-bodies.ts'

export interface UsersEndpointPorts {
  readonly authenticate: Authenticate
  readonly users: Users
  readonly passwords: PasswordChanges
  readonly lists: Lists
}

const administration = 'user.manage'

type Handle = (call: HttpCall, caller: Caller) => Promise<Answer>

export function usersRoutes({ authenticate, users, passwords, lists }: UsersEndpointPorts): Route[] {
  /** The order of checks is the contract's: size, transport, credential, body (in `handle`), right. */
  const route = (method: Method, path: string, handle: Handle): Route => ({
    methods: [method],
    path,
    describe: () => [describeUsersRoute(method, path)],
    handle: async (call) => {
      await call.readBody()
      requireSecureTransport(call.peer)
      return handle(call, await authenticate(call))
    },
  })
  const administer = (method: Method, path: string, handle: Handle): Route =>
    route(method, path, (call, caller) => {
      requireRights(caller, [administration])
      return handle(call, caller)
    })
  return [
    route('GET', '/users', async (call, caller) => {
      const list = lists.open(call, { list: 'users' }, readQuery(call, pageParameters))
      requireRights(caller, [administration])
      return list.answer(await users.list(list.page), { represent, headers: noStore })
    }),
    route('POST', '/users', async (call, caller) => {
      const request = await readBodyAs(call, creationSchema)
      requireRights(caller, [administration])
      const user = await users.create(request)
      return jsonAnswer(201, represent(user), { ...noStore, location: `/users/${encodeURIComponent(user.username)}` })
    }),
    administer('GET', '/users/:username', async (call) =>
      jsonAnswer(200, represent(await users.read(nameOf(call))), noStore),
    ),
    route('PATCH', '/users/:username', async (call, caller) => {
      const patch = await readBodyAs(call, patchSchema)
      requireRights(caller, [administration])
      return jsonAnswer(200, represent(await users.patch(nameOf(call), patch)), noStore)
    }),
    administer('DELETE', '/users/:username', async (call) => {
      await users.delete(nameOf(call))
      return emptyAnswer(204, noStore)
    }),
    administer('POST', '/users/:username/logout', async (call) => {
      await users.logOutEverywhere(nameOf(call))
      return emptyAnswer(204, noStore)
    }),
    route('PUT', '/users/:username/password', (call, caller) => changePassword(call, caller, passwords)),
  ]
}

const nameOf = (call: HttpCall): string => call.pathParameters.username ?? ''

const represent = (user: User) => ({
  id: user.id,
  username: user.username,
  roles: user.roles,
  rights: user.rights,
  enabled: user.enabled,
  createdAt: rfc3339(user.createdAt),
  updatedAt: rfc3339(user.updatedAt),
})

/** One's own with the old one; somebody else's with the right to. */
async function changePassword(call: HttpCall, caller: Caller, passwords: PasswordChanges): Promise<Answer> {
  const { newPassword, oldPassword } = await readBodyAs(call, passwordSchema)
  const username = nameOf(call)
  if (foldUsername(username) !== foldUsername(caller.username)) {
    requireRights(caller, [administration])
    await passwords.reset({ username, newPassword })
    return emptyAnswer(204, noStore)
  }
  if (oldPassword === undefined) {
    const errors = [{ pointer: '/oldPassword', code: 'missing-member', message: 'This member is required.' }]
    throw new Refused('invalid-body', '/oldPassword: one changes one’s own password with the old one.', {
      members: { errors },
    })
  }
  const { loginId, generation } = caller.credential
  const login = loginId === undefined || generation === undefined ? null : { id: loginId, generation }
  await passwords.change({ username, oldPassword, newPassword, login })
  return emptyAnswer(204, noStore)
}
