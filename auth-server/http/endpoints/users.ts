/** /users: administration of users, and each user's own password (CONTRACT sections 2 and 9). */
import { rfc3339 } from '../../../shared/platform/clock.ts'
import { type Answer, emptyAnswer, jsonAnswer, noStore } from '../../../shared/platform/http/answer.ts'
import type { HttpCall } from '../../../shared/platform/http/call.ts'
import { readBodyAs, refuseBody } from '../../../shared/platform/http/content/json-body.ts'
import { pageParameters, readQuery } from '../../../shared/platform/http/content/query-parameters.ts'
import type { Lists } from '../../../shared/platform/http/pagination/lists.ts'
import type { Method, Route } from '../../../shared/platform/http/server/routes.ts'
import { requireSecureTransport } from '../../../shared/platform/http/transport.ts'
import { Refused } from '../../../shared/platform/problems/errors.ts'
import { type Authenticate, type Caller, requireRights } from '../../../shared/protocol/authentication/authenticate.ts'
import { isOwnAccount } from '../../../shared/protocol/authentication/own-account.ts'
import type { Audit } from '../../audit/audit.ts'
import type { OwnPasswordChange, PasswordChanges } from '../../logins/change-password.ts'
import { rightsGiven } from '../../users/gifts.ts'
import { grantProblems, refuseProblems, type User } from '../../users/user.ts'
import { refuseImpossibleUser, type UsersForCallers } from '../../users/users.ts'
import { type AuditedWork, audited } from '../audited.ts'
import { describeUsersRoute } from '../openapi/user-operations.ts'
import { creationSchema, logoutParameters, passwordSchema, patchSchema } from './user-bodies.ts'

export interface UsersEndpointPorts {
  readonly authenticate: Authenticate
  readonly users: UsersForCallers
  readonly passwords: PasswordChanges
  readonly lists: Lists
  readonly audit: Audit
}

const administration = 'user.manage'

/** `check` refuses values that are no good, which comes before the rights: `user.manage`, and those that `gives` names. */
type Administered = AuditedWork & {
  readonly caller: Caller
  readonly check?: () => void
  readonly gives?: readonly string[]
}

type Handle = (call: HttpCall, caller: Caller) => Promise<Answer>

export function usersRoutes({ authenticate, users, passwords, lists, audit }: UsersEndpointPorts): Route[] {
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
  /** Does `work` if the caller may, and writes down what became of it. */
  const administered = <Result>(about: Administered, work: () => Promise<Result>): Promise<Result> =>
    audited(audit, about, async () => {
      about.check?.()
      requireRights(about.caller, [administration, ...(about.gives ?? [])])
      return work()
    })
  return [
    route('GET', '/users', async (call, caller) => {
      const list = lists.open(call, { list: 'users' }, readQuery(call, pageParameters))
      requireRights(caller, [administration])
      return list.answer(await users.list(list.page), { represent, headers: noStore })
    }),
    route('POST', '/users', async (call, caller) => {
      const request = await readBodyAs(call, creationSchema)
      const check = () => refuseImpossibleUser(request)
      const gives = rightsGiven(request)
      const about = { call, caller, action: 'user.created', target: request.username, check, gives }
      const user = await administered(about, () => users.create(request, caller))
      return jsonAnswer(201, represent(user), { ...noStore, location: `/users/${encodeURIComponent(user.username)}` })
    }),
    route('GET', '/users/:username', async (call, caller) => {
      requireRights(caller, [administration])
      return jsonAnswer(200, represent(await users.read(nameOf(call))), noStore)
    }),
    route('PATCH', '/users/:username', async (call, caller) => {
      const patch = await readBodyAs(call, patchSchema)
      const check = () => refuseProblems(grantProblems(nameOf(call), patch.roles, patch.rights))
      const about = { call, caller, action: 'user.changed', target: nameOf(call), check }
      const user = await administered(about, () => users.patch(nameOf(call), patch, caller))
      return jsonAnswer(200, represent(user), noStore)
    }),
    route('DELETE', '/users/:username', async (call, caller) => {
      await refuseBody(call)
      const about = { call, caller, action: 'user.deleted', target: nameOf(call) }
      await administered(about, () => users.delete(nameOf(call)))
      return emptyAnswer(204, noStore)
    }),
    route('POST', '/users/:username/logout', async (call, caller) => {
      const extent = { everything: readQuery(call, logoutParameters).everything === 'true' }
      const action = extent.everything ? 'user.credentials-ended' : 'user.logged-out'
      const about = { call, caller, action, target: nameOf(call) }
      await administered(about, () => users.logOutEverywhere(nameOf(call), extent))
      return emptyAnswer(204, noStore)
    }),
    route('PUT', '/users/:username/password', (call, caller) => changePassword(call, caller, { passwords, audit })),
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

/** One's own with the old one; that of another user with the right to, and with every right of that user. */
async function changePassword(
  call: HttpCall,
  caller: Caller,
  { passwords, audit }: Pick<UsersEndpointPorts, 'passwords' | 'audit'>,
): Promise<Answer> {
  const { newPassword, oldPassword } = await readBodyAs(call, passwordSchema)
  const username = nameOf(call)
  const about = { call, caller, action: 'user.password-changed', target: username }
  if (!isOwnAccount(caller, username)) {
    await audited(audit, about, async () => {
      passwords.refuseImpossible({ username, newPassword })
      requireRights(caller, [administration])
      await passwords.reset({ username, newPassword, giver: caller })
    })
    return emptyAnswer(204, noStore)
  }
  if (oldPassword === undefined) {
    const errors = [{ pointer: '/oldPassword', code: 'missing-member', message: 'This member is required.' }]
    throw new Refused('invalid-body', '/oldPassword: one changes one’s own password with the old one.', {
      members: { errors },
    })
  }
  const change = { username, oldPassword, newPassword, clientAddress: call.peer.address, login: loginOf(caller) }
  await audited(audit, about, () => passwords.change(change))
  return emptyAnswer(204, noStore)
}

/** The login or session that calls, where the credential belongs to one. */
const loginOf = ({ credential: { loginId, generation } }: Caller): OwnPasswordChange['login'] =>
  loginId === undefined || generation === undefined ? null : { id: loginId, generation }
