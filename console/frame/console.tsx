/**
 * The console of a server: pages for people, rendered on the server, over the routes of the API (`api.ts`). Pages work
 * without JavaScript. The only credential is the session cookie. Each form meets the cross-site rule before anything
 * else, and is read when its sender is known.
 */

import type { Child } from 'hono/jsx'
import type { Right } from '../../auth-server/principals/rights.ts'
import { isForm, readForm } from '../../shared/platform/http/content/form-body.ts'
import {
  type FormFile,
  isMultipart,
  multipartType,
  readMultipart,
} from '../../shared/platform/http/content/multipart-body.ts'
import { createInnerRequest } from '../../shared/platform/http/inner-request.ts'
import { type HttpRequest, maxOpenBodyBytes } from '../../shared/platform/http/request.ts'
import { type HttpResponse, noStore } from '../../shared/platform/http/response.ts'
import type { AnswerByRoute, Method, Route } from '../../shared/platform/http/server/routes.ts'
import { requireSecureTransport } from '../../shared/platform/http/transport.ts'
import { ProblemError } from '../../shared/platform/problems/errors.ts'
import type { ProblemDocument } from '../../shared/platform/problems/problem-document.ts'
import type { Caller } from '../../shared/protocol/authentication/authenticate.ts'
import { explainedProblems } from '../../shared/protocol/problems/catalogue.ts'
import { htmlType, pageHeaders } from '../../shared/server/html/page.ts'
import type { ConsoleServer } from '../../shared/server/pages/console.ts'
import { firstPages, signInPath } from '../../shared/server/pages/page-paths.ts'
import { type Api, type ApiRefusal, createInnerApi, RefusedCall, type RouteTable } from './api.ts'
import { type AssetName, consoleAssets } from './assets.ts'
import { renderFrame } from './frame.tsx'
import { may } from './may.ts'
import { type Reader, readerOf } from './reader.ts'

/** The settings of a console. */
export type ConsoleSettings = Pick<ConsoleServer, 'server' | 'publicOrigins'>

/** A request for a page. */
export interface Visit<Routes extends RouteTable> {
  readonly request: HttpRequest
  readonly api: Api<Routes>
  readonly reader: Reader
  readonly publicOrigins: ConsoleSettings['publicOrigins']
  /** The fields of the form that was sent; empty for GET. */
  readonly form: ReadonlyMap<string, string>
  /** The files of the form by field, for pages that take files. */
  readonly files: ReadonlyMap<string, FormFile>
}

/** A request for a page by a reader who is signed in. */
export interface SignedInVisit<Routes extends RouteTable> extends Visit<Routes> {
  readonly caller: Caller
}

/** A page to show. */
export interface ShownPage {
  readonly title: string
  readonly content: Child
  /** 200 when left out. */
  readonly status?: number
  readonly scripts?: readonly AssetName[]
  readonly headers?: HttpResponse['headers']
  /** Where forms may lead by redirects, beside the pair: the origin of an application, or its own scheme. */
  readonly formTarget?: string | undefined
}

/** The result of a page: itself, another page to go on to, or a response of its own, such as a file. */
export type PageResult = ShownPage | { readonly redirect: string } | { readonly response: HttpResponse }

interface PagePath {
  /** `GET` for a page, `POST` for its forms. */
  readonly methods: readonly Extract<Method, 'GET' | 'POST'>[]
  readonly path: string
}

/** A page for readers who are signed in. */
export interface Page<Routes extends RouteTable> extends PagePath {
  readonly isOpen?: false
  /** Readers without it get a page that names it. */
  readonly right?: Right | undefined
  /** The largest form with files (`multipart/form-data`), in bytes; without it, the page takes no files. */
  readonly maxFileBytes?: number
  render(visit: SignedInVisit<Routes>): Promise<PageResult> | PageResult
}

/** A page for all readers. */
export interface OpenPage<Routes extends RouteTable> extends PagePath {
  readonly isOpen: true
  render(visit: Visit<Routes>): Promise<PageResult> | PageResult
}

/** The caller is not signed in, or the session has ended. */
class SignInNeeded extends Error {
  readonly headers: HttpResponse['headers']

  constructor(headers: HttpResponse['headers'] = {}) {
    super('The reader is not signed in')
    this.headers = headers
  }
}

/** Codes of 401 that say that there is no session for the console, or no longer. */
const withoutSession: ReadonlySet<string> = new Set([
  'unauthenticated',
  'invalid-session',
  'login-ended',
  'wrong-audience',
])

/** @throws SignInNeeded for a refusal that says so */
function requireSession({ status, problem, headers }: ApiRefusal): void {
  if (status === 401 && withoutSession.has(problem.code)) throw new SignInNeeded(headers)
}

/** The routes of the pages, of their files, and of all other paths below the first page. */
export function consoleRoutes<Routes extends RouteTable>(
  server: ConsoleServer,
  pages: readonly (Page<Routes> | OpenPage<Routes>)[],
): Route[] {
  const base = firstPages[server.server]
  const console = createConsole<Routes>(server)
  const missing: OpenPage<Routes> = {
    isOpen: true,
    methods: ['GET'],
    path: `${base}/*`,
    render: () => missingPage(base),
  }
  return [
    { methods: ['GET'], path: `${base}/assets/:file`, handle: consoleAssets.respond },
    ...[...pages, missing].map((page): Route => {
      const { methods, path } = page
      const handle = async (request: HttpRequest) => {
        const response = await console(request, page)
        // Browsers send no chunked forms, and Node.js would parse the chunks of an unread one without any limit.
        if (request.header('transfer-encoding') === undefined) return response
        return { ...response, headers: { ...response.headers, connection: 'close' } }
      }
      const maxBodyBytes = page.isOpen ? maxOpenBodyBytes : (page.maxFileBytes ?? maxFormBytes)
      return { methods, path, readsBodyLate: true, maxBodyBytes, handle }
    }),
  ]
}

/** The largest form without files of a reader who is signed in, in bytes. */
const maxFormBytes = 256 * 1024

function createConsole<Routes extends RouteTable>(server: ConsoleServer) {
  const { routes, answer, authenticate, refuseCrossSite, publicOrigins } = server
  const apiOf = createInnerApi<Routes>(routes, answer)
  /** Reads the session by a request of its own: the one for the page may be a form. */
  const findCaller = async (request: HttpRequest): Promise<Caller> => {
    let caller: Caller | undefined
    const inner = createInnerRequest(request, { method: 'GET', path: request.path, pathParameters: {} })
    const reply = await answer(inner, {
      handle: async () => {
        requireSecureTransport(request.peer)
        caller = await authenticate(inner)
        return { status: 204, headers: {}, body: null }
      },
    })
    if (caller) return caller
    if (reply.status === 401) throw new SignInNeeded(reply.headers)
    throw new RefusedCall({ ok: false, ...reply, problem: JSON.parse(String(reply.body)) })
  }
  return async function answerPage(request: HttpRequest, page: Page<Routes> | OpenPage<Routes>): Promise<HttpResponse> {
    let caller: Caller | undefined
    const show = (shown: PageResult) => shownResponse(server, { request, caller, shown })
    const visit = { request, reader: readerOf(request), publicOrigins }
    try {
      refuseCrossSite(request)
      if (page.isOpen) return show(await page.render({ ...visit, ...(await formOf(request)), api: apiOf(request) }))
      caller = await findCaller(request)
      if (page.right !== undefined && !may(caller, page.right)) return show(withoutRight(page.right))
      const sent = await formOf(request, page.maxFileBytes)
      return show(await page.render({ ...visit, ...sent, api: apiOf(request, requireSession), caller }))
    } catch (error) {
      if (error instanceof SignInNeeded) return signInFirst(server, { request, form: await smallForm(request), error })
      if (error instanceof RefusedCall)
        return show({ ...problemPage(error.reply.problem), headers: cookiesIn(error.reply.headers) })
      return show(await problemPageOf(request, answer, error))
    }
  }
}

/** What a form has sent. */
type Sent = Pick<Visit<RouteTable>, 'form' | 'files'>

const noFields: ReadonlyMap<string, string> = new Map()
const noFiles: ReadonlyMap<string, FormFile> = new Map()

/** @throws ProblemError `unsupported-media-type`, `invalid-body`, `body-too-large` */
async function formOf(request: HttpRequest, maxFileBytes?: number): Promise<Sent> {
  if (request.method !== 'POST') return { form: noFields, files: noFiles }
  if (maxFileBytes !== undefined && isMultipart(request)) {
    const { fields, files } = await readMultipart(request)
    return { form: fields, files }
  }
  const body = await request.readBody()
  if (body.length > maxFormBytes) throw new ProblemError('body-too-large', `Send files as ${multipartType}.`)
  return { form: body.length === 0 && !isForm(request) ? noFields : await readForm(request), files: noFiles }
}

/** The form of a reader who is not signed in, if a browser says that a page sent it and it is small; else none. */
async function smallForm(request: HttpRequest): Promise<ReadonlyMap<string, string>> {
  const length = Number(request.header('content-length') ?? Number.POSITIVE_INFINITY)
  const isOfPage = request.header('origin') !== undefined || request.header('sec-fetch-site') !== undefined
  if (request.method !== 'POST' || !isOfPage || !isForm(request) || length > maxOpenBodyBytes) return noFields
  return readForm(request).catch(() => noFields)
}

/** A page and its reader. */
export interface Answered {
  readonly request: HttpRequest
  readonly caller: Caller | undefined
  readonly shown: PageResult
}

/** The response that shows a page. */
export function shownResponse(
  { server, publicOrigins }: ConsoleSettings,
  { request, caller, shown }: Answered,
): HttpResponse {
  if ('response' in shown) return shown.response
  if ('redirect' in shown) return { status: 303, headers: { ...noStore, location: shown.redirect }, body: null }
  const { title, content, status = 200, scripts = [], headers = {}, formTarget } = shown
  const { path } = request
  const text = renderFrame({ title, server, publicOrigins, path, reader: caller, scripts, children: content })
  const origins = Object.values(publicOrigins)
  const policy = {
    'script-src': ["'self'"],
    'connect-src': ["'self'"],
    // Browsers apply this directive to the redirect that answers a form, too.
    'form-action': ["'self'", ...origins, ...(formTarget === undefined ? [] : [formSourceOf(formTarget)])],
  }
  // No cache keeps a page: after a sign-out, the button Back shows nothing.
  return { status, headers: { 'content-type': htmlType, ...noStore, ...pageHeaders(policy), ...headers }, body: text }
}

/**
 * A source for a policy. It cannot name an IPv6 address (CSP §2.3.1): browsers ignore such a source, so the scheme is
 * named.
 */
const formSourceOf = (target: string): string => (target.startsWith('http://[') ? 'http:' : target)

interface Interrupted {
  readonly request: HttpRequest
  readonly form: ReadonlyMap<string, string>
  readonly error: SignInNeeded
}

/** A form with more fields is not shown to be sent again. */
const maxKeptFields = 100

/** The cookies that a response sets or expires. */
const cookiesIn = ({ 'set-cookie': cookies }: HttpResponse['headers']): HttpResponse['headers'] =>
  cookies === undefined ? {} : { 'set-cookie': cookies }

/** Leads to the page for signing in, and back. A form that was sent is shown: it can be sent again. */
function signInFirst(settings: ConsoleSettings, { request, form, error }: Interrupted): HttpResponse {
  const { publicOrigins, server } = settings
  const headers = cookiesIn(error.headers)
  const back = publicOrigins[server] + request.path + (request.rawQuery === '' ? '' : `?${request.rawQuery}`)
  const target = (returnTo: string) =>
    `${publicOrigins.auth}${signInPath}?${new URLSearchParams({ return_to: returnTo, reason: 'sign-in' })}`
  const isSecret = [...form].some(([name, value]) => value !== '' && /password|secret|^code$|recovery/i.test(name))
  if (form.size === 0 || form.size > maxKeptFields || isSecret) {
    return { status: 303, headers: { ...noStore, ...headers, location: target(back) }, body: null }
  }
  const content = (
    <>
      <h1>Your session has ended</h1>
      <p>
        Nothing was changed, and nothing that you entered is lost. Sign in on a page of its own, then send the form
        again.
      </p>
      <p>
        <a href={target(publicOrigins[server] + firstPages[server])} target="_blank" rel="noopener">
          Sign in (opens a new page)
        </a>
      </p>
      <form method="post" action={request.path + (request.rawQuery === '' ? '' : `?${request.rawQuery}`)}>
        <dl>
          {[...form].map(([name, value]) => (
            <>
              <dt>{name}</dt>
              <dd>
                {value}
                <input type="hidden" name={name} value={value} />
              </dd>
            </>
          ))}
        </dl>
        <button type="submit">Send the form again</button>
      </form>
    </>
  )
  const shown = { title: 'Your session has ended', status: 401, content, headers }
  return shownResponse(settings, { request, caller: undefined, shown })
}

const missingPage = (base: string): ShownPage => ({
  title: 'There is no such page',
  status: 404,
  content: (
    <>
      <h1>There is no such page</h1>
      <p>The address may be mistyped, or the page is gone.</p>
      <p>
        <a href={base}>Back to the first page</a>
      </p>
    </>
  ),
})

const withoutRight = (right: Right): ShownPage => ({
  title: "You don't have permission to see this page",
  status: 403,
  content: (
    <>
      <h1>You don't have permission to see this page</h1>
      <p>This page needs the right {right}. An administrator can give it to you.</p>
    </>
  ),
})

/** Errors of the server are logged there, and have a page too. */
async function problemPageOf(request: HttpRequest, answer: AnswerByRoute, error: unknown): Promise<ShownPage> {
  const handle = () => {
    throw error
  }
  const { headers, body } = await answer(request, { handle })
  const { 'retry-after': retryAfter } = headers
  return {
    ...problemPage(JSON.parse(String(body))),
    ...(retryAfter !== undefined && { headers: { 'retry-after': retryAfter } }),
  }
}

/** A page that shows a problem, with its remedy. */
export function problemPage(problem: ProblemDocument): ShownPage {
  const remedy = explainedProblems(401).find(({ code }) => code === problem.code)?.remedy
  return {
    title: problem.title,
    status: problem.status,
    content: (
      <>
        <h1>{problem.title}</h1>
        <p>{problem.detail}</p>
        {remedy !== undefined && (
          <p>
            <strong>What you can do:</strong> {remedy}
          </p>
        )}
        <p class="hint">
          Request id: <code>{problem.requestId}</code>
        </p>
      </>
    ),
  }
}
