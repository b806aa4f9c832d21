/** /users/{username}/sessions: the logins of a user, for administrators (docs/contract/logins.md#logout). */

import { pageParameters } from '../../../../shared/platform/http/content/query-parameters.ts'
import { defineEndpoint } from '../../../../shared/server/endpoints/endpoint.ts'
import type { AuthServices } from '../../services/auth-services.ts'
import { loginComponent, loginPage, noSuchLogin, representLogin } from './login-view.ts'

const right = 'session.manage'
const tag = 'sessions'

/** Creates the endpoints for the administration of a user's logins. */
export const userSessionsEndpoints = ({ users, loginLists, lists, revokeAllLogins, revokeLogin }: AuthServices) => [
  defineEndpoint({
    method: 'GET',
    path: '/users/:username/sessions',
    id: 'listLogins',
    summary: 'List the sessions and token logins of a user',
    description: 'Needs the right `session.manage`. The newest first.',
    tag,
    query: pageParameters,
    right,
    ...loginPage,
    problems: ['invalid-cursor', 'not-found'],
    // A cursor belongs to the list of one user. Only a caller with the right may find out whether the user exists.
    handle: async ({ request, caller, path, query }) => {
      const { id: userId } = await users.read(path.username)
      const list = lists.open(request, { list: 'logins', query: { userId } }, query)
      return list.reply(await loginLists.list(userId, list.page), representLogin(caller.credential.loginId))
    },
  }),
  defineEndpoint({
    method: 'DELETE',
    path: '/users/:username/sessions',
    id: 'endLogins',
    summary: 'End all sessions and token logins of a user',
    description: 'Needs the right `session.manage`. Deal servers refuse them within a second.',
    tag,
    right,
    success: { description: 'They have ended.' },
    problems: ['not-found'],
    audit: ({ path }) => ({ action: 'user.logins-ended', target: path.username }),
    handle: ({ path }) => revokeAllLogins({ username: path.username, reason: 'administrator' }),
  }),
  defineEndpoint({
    method: 'GET',
    path: '/users/:username/sessions/:id',
    id: 'getLogin',
    summary: 'Read a session or token login of a user',
    description: 'Needs the right `session.manage`.',
    tag,
    right,
    success: { description: 'The login.' },
    response: loginComponent,
    problems: ['not-found'],
    handle: async ({ caller, path }) => {
      const { id: userId } = await users.read(path.username)
      const login = await loginLists.find(userId, path.id)
      if (!login) throw noSuchLogin('of this user')
      return { body: representLogin(caller.credential.loginId)(login) }
    },
  }),
  defineEndpoint({
    method: 'DELETE',
    path: '/users/:username/sessions/:id',
    id: 'endLogin',
    summary: 'End a session or token login of a user',
    description: 'Needs the right `session.manage`. Deal servers refuse it within a second.',
    tag,
    right,
    success: { description: 'It has ended.' },
    problems: ['not-found'],
    handle: async ({ path: { username, id } }) => {
      const was = await revokeLogin({ username, id, reason: 'administrator' })
      if (was === undefined) throw noSuchLogin('of this user')
    },
  }),
]
