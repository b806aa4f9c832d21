/**
 * Turns a table of routes into a Hono app. Every path also answers HEAD, OPTIONS and 405. Every error becomes a problem
 * document. Every request is logged once, with its caller and its problem code, without its query and without
 * credentials.
 */
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response'
import { type Context, Hono } from 'hono'
import type { Clock } from '../../clock.ts'
import type { IdSource } from '../../ids.ts'
import type { Log } from '../../log/log.ts'
import { ProblemError, Unavailable } from '../../problems/errors.ts'
import {
  occurrenceOf,
  occurrenceOfUnavailable,
  type ProblemDocument,
  type ProblemTable,
  problemDocument,
} from '../../problems/problem-document.ts'
import { traceIdOf } from '../../trace-context.ts'
import { acceptPatch } from '../content/json-body.ts'
import type { Cors } from '../cors.ts'
import type { Describe } from '../operation.ts'
import { createHttpRequest, type HttpRequest, type RequestOrigin } from '../request.ts'
import type { HttpResponse } from '../response.ts'
import { securityHeaders } from '../security-headers.ts'
import { type ServerBindings, sendStream } from '../stream.ts'
import { peerOf, refuseContradiction, type TransportSettings } from '../transport.ts'

/** The methods of routes. The table itself answers HEAD and OPTIONS. */
export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

/** The names of the parameters in a path of Hono's syntax. */
type ParameterName<Path extends string> = Path extends `${string}:${infer Rest}`
  ? Rest extends `${infer Name}/${infer More}`
    ? Name | ParameterName<`/${More}`>
    : Rest
  : never

/** The parameters of a path, decoded. */
export type PathParameters<Path extends string> = Readonly<Record<ParameterName<Path>, string>>

/** One path, and the methods that share a handler on it. */
export interface Route {
  readonly methods: readonly Method[]
  /** In the path syntax of Hono. Served with and without a trailing slash. */
  readonly path: string
  /** The documentation of the route. The tests fail for a route without one. */
  readonly describe?: Describe
  /** The largest body, in bytes; 256 KiB when left out. */
  readonly maxBodyBytes?: number
  /** True: the handler reads the body when it knows the caller. Before that, nothing of a body is kept in memory. */
  readonly readsBodyLate?: boolean
  /** False: OPTIONS is refused. A proxy that asks with the method of its client would take 204 for a permission. */
  readonly answersOptions?: false
  handle(request: HttpRequest): Promise<HttpResponse> | HttpResponse
  /** Called before the answer is sent, also for problems. It may add header fields. */
  finish?(request: HttpRequest, response: HttpResponse): void
}

/**
 * The body and header fields of problems that are not written as problem documents, such as OAuth errors; undefined for
 * all other requests.
 */
export type OtherProblemForm = (
  request: HttpRequest,
  problem: ProblemDocument,
) => { readonly headers: HttpResponse['headers']; readonly body: object } | undefined

/** The common options of all routes of a server. */
export interface AppOptions {
  readonly routes: readonly Route[]
  readonly problems: ProblemTable
  /** The enabled schemes. Every 401 names them, unless the refusal names the schemes of its route itself. */
  readonly schemes: readonly string[]
  /** The challenge of a 401 without a challenge of its own. */
  readonly fallbackChallenge?: string | undefined
  /** True for query parameters that belong to the credential of the request. No route reads them. */
  readonly isCredentialParameter?: (name: string) => boolean
  readonly transport: TransportSettings
  /** The origin that clients see. */
  readonly origin: string
  readonly clock: Clock
  readonly ids: IdSource
  readonly log: Log
  /** The origins whose scripts may call; without it, only the origin of the server. */
  readonly cors?: Cors | undefined
  readonly otherProblemForm?: OtherProblemForm
  /** Called for every answered request. */
  readonly observe?: (request: AnsweredRequest) => void
  /** Runs the answer to each request in a span of its own; without it, there are no spans. */
  readonly trace?: TraceRequest | undefined
  /** The refusal for a path that no route has; when undefined, `not-found`. */
  readonly unknownPath?: (path: string) => ProblemError | undefined
}

/** An answered request. */
export interface AnsweredRequest {
  readonly method: string
  /** The pattern of the route, not the path. */
  readonly route: string
  readonly status: number
  /** The code of the problem; undefined for a success. */
  readonly code: string | undefined
  /** The program that called for itself, if one did. */
  readonly serviceId: string | undefined
  readonly durationMs: number
}

/**
 * Runs the answer to a request, which never rejects, in a span of the trace `request.traceId`. `route` is the pattern
 * of the route; `*` for a path without one.
 */
export type TraceRequest = (
  request: HttpRequest,
  route: string,
  answer: () => Promise<HttpResponse>,
) => Promise<HttpResponse>

type Env = { Bindings: ServerBindings }

/** Answers a request by a route. A refusal is answered as a problem document. It does not throw. */
export type AnswerByRoute = (request: HttpRequest, route: Pick<Route, 'handle'>) => Promise<HttpResponse>

type AnswerOptions = Pick<
  AppOptions,
  'problems' | 'schemes' | 'fallbackChallenge' | 'origin' | 'log' | 'otherProblemForm'
>

/** For pages that are made of the answers of other routes. Such answers are neither logged nor observed. */
export const createAnswerByRoute =
  (options: AnswerOptions): AnswerByRoute =>
  (request, { handle }) =>
    answerOrProblem(request, options, { handle })

/**
 * Creates the app of `routes`. Call it through sockets only: it reads the request that Node.js parsed, not the
 * `Request`.
 */
export function createApp(options: AppOptions): Hono<Env> {
  const app = new Hono<Env>({ strict: false })
  // Apart from the routes: the framework would compose several handlers of one path for each request.
  const others = otherMethods(options)
  const add = (route: Route) => app.on([...route.methods], route.path, (context) => serve(context, options, route))
  const [plain, open] = [options.routes.filter(isPlain), options.routes.filter((route) => !isPlain(route))]
  plain.forEach(add)
  // Other methods of `/things/new` must not reach `/things/:id`.
  for (const path of new Set(plain.map((route) => route.path)))
    if (open.some((other) => matches(other, path)))
      app.all(path, (context) => others.fetch(context.req.raw, context.env))
  open.forEach(add)
  app.notFound((context) => others.fetch(context.req.raw, context.env))
  return app
}

/** Answers OPTIONS, and refuses the methods that a path does not have, and unknown paths. */
function otherMethods(options: AppOptions): Hono<Env> {
  const app = new Hono<Env>({ strict: false })
  const withoutOptions = new Set(options.routes.flatMap((route) => (route.answersOptions === false ? route.path : [])))
  for (const [path, methods] of allowedMethods(options.routes)) {
    const isAnswered = !withoutOptions.has(path)
    const allow = [...methods, ...(isAnswered ? ['OPTIONS'] : [])].join(', ')
    const headers = { allow, ...(methods.has('PATCH') ? acceptPatch : {}) }
    const handle: Route['handle'] = ({ method }) => answerOtherMethod(isAnswered ? method : undefined, headers)
    app.all(path, (context) => serve(context, options, { path, handle }))
  }
  const refuse: Route['handle'] = ({ path }) => {
    throw options.unknownPath?.(path) ?? new ProblemError('not-found', 'There is no such route.')
  }
  app.notFound((context) => serve(context, options, { path: '*', handle: refuse }))
  return app
}

function allowedMethods(routes: readonly Route[]): Map<string, Set<string>> {
  const byPath = new Map<string, Set<string>>()
  for (const { path, methods } of routes) {
    const allowed = byPath.get(path) ?? new Set()
    for (const method of methods) {
      allowed.add(method)
      if (method === 'GET') allowed.add('HEAD')
    }
    byPath.set(path, allowed)
  }
  return byPath
}

/** True for a path that matches nothing but itself. */
const isPlain = ({ path }: Route): boolean => !/[:*]/.test(path)

/** True when a route with parameters matches the path of a plain one. */
const matches = (open: Route, path: string): boolean =>
  new RegExp(`^${open.path.replace(/:\w+(\{[^}]*\})?/g, '[^/]+')}$`).test(path)

function answerOtherMethod(method: string | undefined, headers: { readonly allow: string }): HttpResponse {
  if (method === 'OPTIONS') return { status: 204, headers, body: null }
  throw new ProblemError('method-not-allowed', `Allowed here: ${headers.allow}.`, { headers: { allow: headers.allow } })
}

async function serve(
  context: Context<Env>,
  options: AppOptions,
  served: Pick<Route, 'path' | 'handle' | 'maxBodyBytes' | 'readsBodyLate' | 'finish'>,
): Promise<Response> {
  const started = options.clock.monotonic()
  const incoming = context.env.incoming
  const origin: RequestOrigin = {
    incoming,
    pathParameters: context.req.param(),
    requestId: options.ids.uuid(),
    peer: peerOf(incoming, options.transport),
    maxBodyBytes: served.maxBodyBytes,
    isCredentialParameter: options.isCredentialParameter,
  }
  const request = createHttpRequest(origin)
  const { trace } = options
  const { path: route } = served
  const traceId = trace ? request.traceId : traceIdOf(request.header('traceparent'))
  const answering = request.peer.isContradicted ? { handle: refuseContradiction } : served
  const handled = await (trace
    ? trace(request, route, () => answerOrProblem(request, options, answering))
    : answerOrProblem(request, options, answering))
  const response = options.cors?.(request, handled) ?? handled
  served.finish?.(request, response)
  const durationMs = options.clock.monotonic() - started
  const { status, problemCode: code } = response
  options.observe?.({ method: request.method, route, status, code, serviceId: request.caller?.serviceId, durationMs })
  if (options.log.isLevelEnabled('info')) {
    options.log.info({
      requestId: request.requestId,
      traceId,
      method: request.method,
      route,
      asksAbout: described(request.asksAbout),
      status,
      code,
      userId: request.caller?.userId,
      serviceId: request.caller?.serviceId,
      scheme: request.caller?.scheme,
      ms: Math.round(durationMs * 10) / 10,
      address: request.peer.address,
    })
  }
  return respond(context, options, { request, response })
}

const maxLoggedPath = 1_024

/** Method and path, without the query: a signature may be there. Undefined: the log line has no such member. */
const described = (asked: HttpRequest['asksAbout']): string | undefined =>
  asked && `${asked.method} ${asked.path.slice(0, maxLoggedPath)}`

async function answerOrProblem(
  request: HttpRequest,
  options: AnswerOptions,
  { handle, readsBodyLate = false }: Pick<Route, 'handle' | 'readsBodyLate'>,
): Promise<HttpResponse> {
  const isChunked = request.header('transfer-encoding') !== undefined
  try {
    // A chunked body is read for every route: Node.js would parse the chunks of an unread body without any limit.
    if (isChunked && !readsBodyLate) await request.readBody()
    return await handle(request)
  } catch (error) {
    const refusal = problemResponse(request, options, error)
    const isUnread = isChunked && readsBodyLate
    return isUnread ? { ...refusal, headers: { ...refusal.headers, connection: 'close' } } : refusal
  }
}

function problemResponse(request: HttpRequest, options: AnswerOptions, error: unknown): HttpResponse {
  const context = { origin: options.origin, requestId: request.requestId }
  const asAnswer = (document: ProblemDocument, headers: HttpResponse['headers']): HttpResponse => {
    const other = options.otherProblemForm?.(request, document)
    return answerOf(document, other?.body ?? document, { ...headers, ...other?.headers })
  }
  if (error instanceof ProblemError) {
    if (error.cause !== undefined) options.log.info({ requestId: request.requestId, err: error }, error.code)
    const document = problemDocument(options.problems, occurrenceOf(error), context)
    const headers = { ...retryHeader(error), ...error.headers }
    if (document.status !== 401) return asAnswer(document, headers)
    const schemes = document.schemes ?? options.schemes
    return asAnswer({ ...document, schemes }, { ...challengeOf(options), ...headers })
  }
  if (error instanceof Unavailable) {
    options.log.warn({ requestId: request.requestId, err: error }, error.message)
    return asAnswer(problemDocument(options.problems, occurrenceOfUnavailable(error), context), retryHeader(error))
  }
  options.log.error({ requestId: request.requestId, err: error }, 'A request failed because of an error in the server')
  const occurrence = { code: 'internal-error', detail: 'The request could not be carried out. It has been logged.' }
  return asAnswer(problemDocument(options.problems, occurrence, context), {})
}

const retryHeader = ({ retryAfterSeconds }: Pick<ProblemError, 'retryAfterSeconds'>): HttpResponse['headers'] =>
  retryAfterSeconds === undefined ? {} : { 'retry-after': String(retryAfterSeconds) }

/** The challenge for refusals without a challenge of their own. */
function challengeOf({ fallbackChallenge }: AnswerOptions): HttpResponse['headers'] {
  return fallbackChallenge === undefined ? {} : { 'www-authenticate': [fallbackChallenge] }
}

/** No cache may store errors about credentials, and caching other errors has no use. */
const answerOf = ({ status, code }: ProblemDocument, body: object, headers: HttpResponse['headers']): HttpResponse => ({
  status,
  headers: { 'content-type': 'application/problem+json', 'cache-control': 'no-store', ...headers },
  body: JSON.stringify(body),
  problemCode: code,
})

function respond(
  context: Context<Env>,
  { log }: AppOptions,
  { request, response }: { request: HttpRequest; response: HttpResponse },
): Response {
  const { requestId } = request
  const { outgoing, streams } = context.env
  const headers: Record<string, string> = { 'x-request-id': requestId, ...securityHeaders }
  const [added, ...others] = request.addedResponseHeaders
  // Fields that are set before the head is written cost more, each of them.
  if (added && others.length === 0) headers[added[0].toLowerCase()] = added[1]
  else for (const [name, value] of request.addedResponseHeaders) outgoing.appendHeader(name, value)
  for (const [name, value] of Object.entries(response.headers)) {
    if (typeof value === 'string') headers[name] = value
    // `Response` joins several lines into one, and clients misread joined challenges. So arrays go directly to Node.js.
    else outgoing.setHeader(name, value)
  }
  const { status, body } = response
  // Without this field, an empty body would be sent as chunks. 204 and 304 have no body at all (RFC 9110 §8.6).
  if (body === null && status !== 204 && status !== 304) headers['content-length'] = '0'
  if (typeof body !== 'function') return new Response(body, { status, headers })
  if (request.method === 'HEAD') return new Response(null, { status, headers })
  outgoing.writeHead(status, headers)
  outgoing.flushHeaders()
  const ended = sendStream(outgoing, body, response.endsByItself ? undefined : streams)
  ended.catch((err: unknown) => log.error({ requestId, err }, 'A stream was cut off'))
  return RESPONSE_ALREADY_SENT
}
