/**
 * The sign-in page. Its form goes to `POST /sessions`, as nothing else sets a session cookie. When a browser's form is
 * refused there, the response is this page again, with the problem.
 */

import { preferredType } from '../../shared/platform/http/content/accept.ts'
import { isForm, readForm } from '../../shared/platform/http/content/form-body.ts'
import type { HttpRequest } from '../../shared/platform/http/request.ts'
import type { HttpResponse } from '../../shared/platform/http/response.ts'
import type { AnswerByRoute, Route } from '../../shared/platform/http/server/routes.ts'
import type { ProblemDocument } from '../../shared/platform/problems/problem-document.ts'
import { firstPages, signInPath } from '../../shared/server/pages/page-paths.ts'
import { type AskedRequest, askedRequest } from '../authorization/asked-request.ts'
import { createInnerApi } from '../frame/api.ts'
import type { AuthApi, AuthRoutes, OpenAuthPage } from '../frame/auth-api.ts'
import { type ConsoleSettings, problemPage, type ShownPage, shownResponse } from '../frame/console.tsx'
import { ErrorSummary, Field } from '../frame/fields.tsx'
import { factorPage } from './sign-in-factor.tsx'

type Origins = ConsoleSettings['publicOrigins']

/** The page. `return_to` is where the reader goes on, a URL on the public origin of either server. */
export const signInPage = (): OpenAuthPage => ({
  isOpen: true,
  methods: ['GET'],
  path: signInPath,
  render: async ({ api, request: { query }, publicOrigins }) => {
    const returnTo = returnUrlOf(query.get('return_to'), publicOrigins)
    const asked = await askedRequest(api, returnTo, publicOrigins.auth)
    return signInForm({
      publicOrigins,
      returnTo,
      asked,
      hint: query.has('signed-out') ? 'You have signed out.' : query.has('reason') ? 'Sign in to go on.' : undefined,
      username: asked?.loginHint ?? undefined,
    })
  },
})

interface SignInProps {
  readonly publicOrigins: Origins
  readonly returnTo: string
  readonly hint?: string | undefined
  readonly problem?: ProblemDocument | undefined
  readonly username?: string | undefined
  /** The application that the reader signs in to. */
  readonly asked: AskedRequest | undefined
}

function signInForm({ publicOrigins, returnTo, hint, problem, username, asked }: SignInProps): ShownPage {
  const fields = [
    { name: 'username', label: 'User name' },
    { name: 'password', label: 'Password' },
  ]
  const [name, secret] = [username ?? '', 'password'] as const
  return {
    title: 'Sign in',
    status: problem?.status ?? 200,
    formTarget: asked?.target,
    content: (
      <div class="narrow">
        <h1>Sign in</h1>
        {asked && (
          <p>
            To go on to <strong>{asked.client.name}</strong>, at <code>{asked.target}</code>.
          </p>
        )}
        {hint !== undefined && <p role="status">{hint}</p>}
        <ErrorSummary problem={problem} fields={fields} />
        <form method="post" action={`${publicOrigins.auth}/sessions`} class="stack">
          <input type="hidden" name="return_to" value={returnTo} />
          <Field name="username" label="User name" value={name} isRequired maxLength={64} autocomplete="username" />
          <Field name={secret} kind={secret} label="Password" isRequired autocomplete="current-password" />
          <button type="submit">Sign in</button>
        </form>
      </div>
    ),
  }
}

/** The URL if it is on a public origin; else the first page of the deal server. */
function returnUrlOf(text: string | null | undefined, publicOrigins: Origins): string {
  const url = text && URL.canParse(text) ? new URL(text) : undefined
  const isOwn = url !== undefined && Object.values(publicOrigins).includes(url.origin)
  return isOwn ? url.href : publicOrigins.deal + firstPages.deal
}

/** True for a form that a page sent, not a program: only browsers ask for HTML. */
const isOfPage = (request: HttpRequest): boolean =>
  isForm(request) && preferredType(request.header('accept') ?? '*/*', ['application/json', 'text/html']) === 'text/html'

/**
 * The routes of the API, of which those for sessions answer the refusal of a page's form by the sign-in page.
 * @param answer answers by a route without throwing
 */
export function withSignInPage(routes: readonly Route[], settings: ConsoleSettings, answer: AnswerByRoute): Route[] {
  const apiOf = createInnerApi<AuthRoutes>(routes, answer)
  return routes.map((route) => {
    if (!route.methods.includes('POST') || !/^\/sessions(\/|$)/.test(route.path)) return route
    const handle = async (request: HttpRequest): Promise<HttpResponse> => {
      if (!isOfPage(request)) return route.handle(request)
      const response = await answer(request, route)
      return response.status < 400 ? response : refusedSignIn({ request, api: apiOf(request) }, settings, response)
    }
    return { ...route, handle }
  })
}

interface Refused {
  readonly request: HttpRequest
  readonly api: AuthApi
}

async function refusedSignIn(refused: Refused, settings: ConsoleSettings, refusal: HttpResponse) {
  const problem: ProblemDocument = JSON.parse(String(refusal.body))
  // Nothing of a form of another site becomes part of a form of ours.
  const shown = problem.code === 'cross-site' ? problemPage(problem) : await signInAgain(refused, settings, problem)
  const response = shownResponse(settings, { request: refused.request, caller: undefined, shown })
  const { 'content-type': _type, 'cache-control': _cache, ...headers } = refusal.headers
  return { ...response, headers: { ...headers, ...response.headers }, problemCode: problem.code }
}

async function signInAgain({ request, api }: Refused, { publicOrigins }: ConsoleSettings, problem: ProblemDocument) {
  const form = await readForm(request).catch(() => undefined)
  const returnTo = returnUrlOf(form?.get('return_to'), publicOrigins)
  const step = { authOrigin: publicOrigins.auth, returnTo, problem, answered: form?.get('challenge') }
  const asked = await askedRequest(api, returnTo, publicOrigins.auth)
  const factor = factorPage(step)
  if (factor) return { ...factor, formTarget: asked?.target }
  return signInForm({ publicOrigins, returnTo, problem, username: form?.get('username'), asked })
}
