/** `/account/sign-out`: an application asks that the reader signs out. Needs no script. */
import { signOutPath } from '../../shared/server/pages/page-paths.ts'
import type { AuthPage } from '../frame/auth-api.ts'

/** The page. */
export const signOutPage = (): AuthPage => ({
  methods: ['GET'],
  path: signOutPath,
  render: async ({ api, request: { query }, caller }) => {
    const request = query.get('request') ?? ''
    const { client, target } = await api.get('GET /oauth/logout/request', { query: { request } })
    return {
      title: 'Sign out?',
      formTarget: target ?? undefined,
      content: (
        <div class="narrow">
          <h1>Sign out?</h1>
          <p>
            {client ?? 'An application'} asks to end your session, <strong>{caller.username}</strong>. You are then
            signed out here, and in every application that you signed in to with this browser.
          </p>
          <form method="post" action="/oauth/logout/decision" class="stack">
            <input type="hidden" name="request" value={request} />
            <button type="submit">Sign out</button>
          </form>
          <p>
            <a class="button quiet" href="/account">
              Stay signed in
            </a>
          </p>
        </div>
      ),
    }
  },
})
