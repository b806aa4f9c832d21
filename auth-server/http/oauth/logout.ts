/** /oauth/logout (OpenID Connect RP-Initiated Logout 1.0): an application asks that its user signs out. */
import * as z from 'zod'
import type { HttpRequest } from '../../../shared/platform/http/request.ts'
import { clearSiteData } from '../../../shared/platform/http/response.ts'
import { originOf } from '../../../shared/protocol/authentication/application.ts'
import type { Caller } from '../../../shared/protocol/authentication/authenticate.ts'
import { component, defineCredentialEndpoint } from '../../../shared/server/endpoints/endpoint.ts'
import { signedOutPath, signOutPath } from '../../../shared/server/pages/page-paths.ts'
import { isAgreed, type SignOutRequest } from '../../authorization/sign-out.ts'
import { targetOf } from '../../clients/redirect-uri.ts'
import { browserOf } from '../request-parts/own-credential.ts'
import type { AuthServices } from '../services/auth-services.ts'
import { formBody, nobody, parametersOfForm, redirectTo } from './authorize.ts'
import { text } from './oauth-endpoint.ts'

const common = {
  tag: 'clients',
  status: 303,
  success: { description: 'The browser goes on.', headers: ['Location', 'Set-Cookie'] },
  problems: ['invalid-authorization-request'],
} as const

/**
 * Ends the session, if there is one, and leads on. What the browser stores goes too, but not for a picture on a page of
 * another site: such a request brings no `Lax` cookie.
 */
async function signOut(
  request: HttpRequest,
  { caller, asked }: { readonly caller: Caller | undefined; readonly asked: SignOutRequest },
  { revokeLogin, audit, cookie, origins }: AuthServices,
) {
  const id = caller?.credential.loginId
  if (caller && id !== undefined) {
    const revoke = () => revokeLogin({ id, username: caller.username, reason: 'logout' })
    await audit.during(originOf(request, caller), undefined, revoke)
  }
  const { status, headers } = redirectTo(asked.location ?? origins.publicOrigins.deal + signedOutPath)
  const cleared = caller === undefined && request.header('sec-fetch-site') === 'cross-site' ? {} : clearSiteData
  return { status, headers: { ...headers, ...cleared, 'set-cookie': [cookie.expire(request)] } }
}

const requestSignOut = (services: AuthServices) =>
  defineCredentialEndpoint({
    ...common,
    method: 'GET',
    path: '/oauth/logout',
    id: 'oauthLogout',
    summary: 'Sign out from an application',
    description:
      'Parameters `id_token_hint` (may have expired), `client_id`, `post_logout_redirect_uri`, `state`. The session ' +
      'ends at once when the hint is of its user; otherwise a page asks.',
    caller: browserOf(services.findCredentials, false),
    handle: async ({ request, caller }) => {
      const asked = await services.signOuts.read(request.query)
      if (isAgreed(asked, caller)) return signOut(request, { caller, asked }, services)
      return redirectTo(
        `${services.origin}${signOutPath}?${new URLSearchParams({ request: services.signOuts.seal(asked) })}`,
      )
    },
  })

/** A form of another site brings no `Lax` cookie, so the request goes on by a GET that does. */
const requestSignOutByForm = ({ signOuts, origin }: AuthServices) =>
  defineCredentialEndpoint({
    ...common,
    method: 'POST',
    path: '/oauth/logout',
    id: 'oauthLogoutByForm',
    summary: 'Sign out from an application, by a form',
    description: 'Answers with a redirect to the GET.',
    caller: nobody,
    body: parametersOfForm({ id_token_hint: text, client_id: text, post_logout_redirect_uri: text, state: text }),
    handle: async ({ body }) => {
      const sealed = signOuts.seal(await signOuts.read(body))
      return redirectTo(`${origin}/oauth/logout?${new URLSearchParams({ request: sealed })}`)
    },
  })

const describeSignOut = ({ signOuts }: AuthServices) =>
  defineCredentialEndpoint({
    method: 'GET',
    path: '/oauth/logout/request',
    id: 'describeSignOutRequest',
    summary: 'Read what a request to sign out asks for',
    description: 'For the page that asks the user: who asks, and where the browser goes on.',
    tag: 'clients',
    caller: nobody,
    query: z.object({ request: z.string() }),
    status: 200,
    success: { description: 'The request.' },
    response: component('SignOutRequest', z.object({ client: z.string().nullable(), target: z.string().nullable() })),
    problems: ['invalid-authorization-request'],
    handle: async ({ request }) => {
      const { clientName: client, location } = await signOuts.read(request.query)
      return { body: { client, target: location === null ? null : targetOf(location) } }
    },
  })

const decisionSchema = z.strictObject({ request: z.string() })

const confirmSignOut = (services: AuthServices) =>
  defineCredentialEndpoint({
    ...common,
    method: 'POST',
    path: '/oauth/logout/decision',
    id: 'confirmSignOut',
    summary: 'Sign out, as an application has asked',
    description: 'The form of the page that asks the user.',
    caller: browserOf(services.findCredentials, true),
    body: formBody(decisionSchema),
    handle: async ({ request, caller, body }) => {
      const asked = await services.signOuts.read(new URLSearchParams(body))
      return signOut(request, { caller, asked }, services)
    },
  })

/** The endpoints of signing out. They need the session cookie. */
export const logoutEndpoints = (services: AuthServices) => [
  requestSignOut(services),
  requestSignOutByForm(services),
  describeSignOut(services),
  confirmSignOut(services),
]
