/** The reader's own sessions and logins. */
import type { AuthPage } from '../frame/auth-api.ts'
import { problemPage } from '../frame/console.tsx'
import { Pager } from '../frame/content.tsx'
import { doneAt } from '../parts/forms.ts'
import { otherLogins, SessionTable } from '../parts/sessions.tsx'
import { AccountFrame } from './tabs.tsx'

const path = '/account/sessions'

/** `/account/sessions`. */
export const sessionsPage = (): AuthPage => ({
  methods: ['GET', 'POST'],
  path,
  render: async ({ request, api, form, reader }) => {
    if (request.method === 'POST') {
      const isOne = form.get('action') !== 'end-others'
      const ids = isOne ? [form.get('id') ?? ''] : await otherLogins(api)
      for (const id of ids) {
        const reply = await api.call('DELETE /sessions/:key', { path: { key: id } })
        // One that is gone by now is no error when all others are to end.
        if (!reply.ok && (isOne || reply.status !== 404)) return problemPage(reply.problem)
      }
      return doneAt(path, isOne ? 'session-ended' : 'sessions-ended')
    }
    const cursor = request.query.get('cursor') ?? undefined
    const { items, nextCursor } = await api.get('GET /sessions', { query: { cursor } })
    const hasOthers = items.some(({ current }) => !current) || nextCursor !== null
    return {
      title: 'Sessions and logins',
      content: (
        <AccountFrame request={request}>
          <div class="head">
            <div>
              <h2>Sessions and logins</h2>
              <p class="hint">Where you are signed in. End what you do not recognise, and then change your password.</p>
            </div>
            {hasOthers && (
              <form method="post" action={path}>
                <input type="hidden" name="action" value="end-others" />
                <button type="submit" class="danger">
                  End all others
                </button>
              </form>
            )}
          </div>
          <SessionTable logins={items} reader={reader} path={path} />
          <Pager path={path} query={request.query} nextCursor={nextCursor} />
        </AccountFrame>
      ),
    }
  },
})
