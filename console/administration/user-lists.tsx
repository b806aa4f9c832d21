/** The sessions and logins of a user, and the API keys of a user. */

import { allKeys, allKeysRight } from '../api-keys/api-key.ts'
import { ApiKeyTable } from '../api-keys/list.tsx'
import type { AuthPage } from '../frame/auth-api.ts'
import { problemPage } from '../frame/console.tsx'
import { Pager } from '../frame/content.tsx'
import { doneAt } from '../parts/forms.ts'
import { SessionTable } from '../parts/sessions.tsx'
import { UserFrame, userSessionsRight } from './user-frame.tsx'
import { userPath, usersPath } from './user-parts.tsx'

/** `/account/users/:username/sessions`. */
export const userSessionsPage = (): AuthPage => ({
  methods: ['GET', 'POST'],
  path: `${usersPath}/:username/sessions`,
  right: userSessionsRight,
  render: async ({ request, api, form, reader, caller }) => {
    const username = request.pathParameters.username ?? ''
    const path = `${userPath(username)}/sessions`
    if (request.method === 'POST') {
      const isAll = form.get('action') === 'end-all'
      const reply = isAll
        ? await api.call('DELETE /users/:username/sessions', { path: { username } })
        : await api.call('DELETE /users/:username/sessions/:id', { path: { username, id: form.get('id') ?? '' } })
      return reply.ok ? doneAt(path, isAll ? 'sessions-ended' : 'session-ended') : problemPage(reply.problem)
    }
    const cursor = request.query.get('cursor') ?? undefined
    const call = { path: { username }, query: { cursor } }
    const { items, nextCursor } = await api.get('GET /users/:username/sessions', call)
    return {
      title: `Sessions and logins · ${username}`,
      content: (
        <UserFrame user={{ username }} request={request} tab="/sessions" rights={caller.rights}>
          <div class="head">
            <h2>Sessions and logins</h2>
            {items.length > 0 && (
              <form method="post" action={path}>
                <input type="hidden" name="action" value="end-all" />
                <button type="submit" class="danger">
                  End all
                </button>
              </form>
            )}
          </div>
          <SessionTable logins={items} reader={reader} path={path} />
          <Pager path={path} query={request.query} nextCursor={nextCursor} />
        </UserFrame>
      ),
    }
  },
})

/** `/account/users/:username/api-keys`. */
export const userApiKeysPage = (): AuthPage => ({
  methods: ['GET'],
  path: `${usersPath}/:username/api-keys`,
  right: allKeysRight,
  render: async ({ request, api, reader, caller }) => {
    const username = request.pathParameters.username ?? ''
    const cursor = request.query.get('cursor') ?? undefined
    const page = await api.get('GET /api-keys', { query: { username, cursor } })
    const path = `${userPath(username)}/api-keys`
    return {
      title: `API keys · ${username}`,
      content: (
        <UserFrame user={{ username }} request={request} tab="/api-keys" rights={caller.rights}>
          <div class="head">
            <h2>API keys</h2>
            <a class="button" href={`${allKeys.base}/new?${new URLSearchParams({ username })}`}>
              Make an API key
            </a>
          </div>
          <ApiKeyTable keys={page.items} place={allKeys} reader={reader} />
          <Pager path={path} query={request.query} nextCursor={page.nextCursor} />
        </UserFrame>
      ),
    }
  },
})
