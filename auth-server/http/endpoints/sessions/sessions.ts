/** /sessions: signing in by cookie, and the caller's own logins (docs/contract/logins.md#sessions). */
import * as z from 'zod'
import { rfc3339 } from '../../../../shared/platform/clock.ts'
import { pageParameters } from '../../../../shared/platform/http/content/query-parameters.ts'
import { maxOpenBodyBytes } from '../../../../shared/platform/http/request.ts'
import {
  component,
  defineCredentialEndpoint,
  defineEndpoint,
  time,
} from '../../../../shared/server/endpoints/endpoint.ts'
import { nameCaller, passwordOfForm } from '../../request-parts/own-credential.ts'
import type { AuthServices } from '../../services/auth-services.ts'
import { accountNameOf, factorProblems } from '../second-factors/login-proof.ts'
import { loginPage, representLogin } from './login-view.ts'
import { sessionLoginBody } from './session-forms.ts'

const tag = 'sessions'

const session = component(
  'Session',
  z.object({
    id: z.string().meta({ format: 'uuid', description: 'The public id; the key is in the cookie alone.' }),
    user: z.string(),
    expiresAt: time.meta({ description: 'However much used, it ends then. RFC 3339.' }),
  }),
)

/** The response to a form with `return_to`. */
export const redirected = { description: 'The browser goes on to `return_to`.', headers: ['Location', 'Set-Cookie'] }

/** POST /sessions. */
export const signInEndpoint = ({ startSession, secondFactors, cookie, origins, audiences }: AuthServices) =>
  defineCredentialEndpoint({
    method: 'POST',
    path: '/sessions',
    id: 'signIn',
    summary: 'Start a session: sign in by cookie',
    description:
      'The session of the cookie that comes along ends. A form with `return_to` is answered 303. The second factor is ' +
      'as at `POST /login`; in a form, `passkey` is JSON text.',
    tag,
    caller: passwordOfForm,
    body: sessionLoginBody({ origins, audiences }),
    status: 201,
    success: { description: 'A new session.', headers: ['Set-Cookie'] },
    response: session,
    otherResponses: { 303: redirected },
    problems: ['too-many-logins', ...factorProblems],
    audit: ({ body }) => {
      const username = accountNameOf(body, secondFactors)
      return { actor: username, action: 'session.started', target: username }
    },
    handle: async ({ request, body: { returnTo, ...proof } }) => {
      const client = { clientAddress: request.peer.address, userAgent: request.header('user-agent') }
      const start = { ...proof, ...client, replacedKeys: cookie.read(request), proved: nameCaller(request) }
      const { id, key, ...started } = await startSession(start)
      const headers = { 'set-cookie': [cookie.set(request, key)] }
      if (returnTo !== undefined) return { status: 303, headers: { ...headers, location: returnTo } }
      return { body: { id, user: started.username, expiresAt: rfc3339(started.expiresAt) }, headers }
    },
  })

/** GET /sessions. */
export const ownLoginsEndpoint = ({ loginLists, lists }: AuthServices) =>
  defineEndpoint({
    method: 'GET',
    path: '/sessions',
    maxBodyBytes: maxOpenBodyBytes,
    id: 'listOwnLogins',
    summary: "List one's own sessions and token logins",
    description: 'Each with the time and the address of its last use, so that a user can recognise and end the others.',
    tag,
    query: pageParameters,
    right: 'own-account',
    ...loginPage,
    problems: ['invalid-cursor'],
    check: ({ request, caller: { userId }, query }) =>
      lists.open(request, { list: 'logins', query: { userId } }, query),
    handle: async ({ caller: { userId, credential }, checked: list }) =>
      list.reply(await loginLists.list(userId, list.page), representLogin(credential.loginId)),
  })
