/**
 * Pages call the HTTP API of their own server, in the same process: each form becomes a request of an existing route,
 * with all steps of its pipeline. So a page can do nothing that the API does not allow.
 */
import { createInnerRequest } from '../../shared/platform/http/inner-request.ts'
import type { HttpRequest } from '../../shared/platform/http/request.ts'
import type { HttpResponse } from '../../shared/platform/http/response.ts'
import type { AnswerByRoute, Route } from '../../shared/platform/http/server/routes.ts'
import type { StreamBody } from '../../shared/platform/http/stream.ts'
import type { ProblemDocument } from '../../shared/platform/problems/problem-document.ts'

/** A call of a route. */
export interface ApiCall {
  /** Method and pattern of the route: `PUT /rest/v1/deals/:id/hold`. */
  readonly route: string
  /** The parameters of the pattern, not encoded. */
  readonly path?: Readonly<Record<string, string>>
  /** Members that are undefined or empty are left out. */
  readonly query?: URLSearchParams | Readonly<Record<string, string | number | boolean | undefined>>
  /** Sent as JSON; a text as it is. */
  readonly body?: unknown
  /** Header fields by name in lower case, such as `if-match`. */
  readonly headers?: Readonly<Record<string, string>>
}

/** The response to a call that succeeded. `Body` is the type of its JSON. */
export interface ApiSuccess<Body> {
  readonly ok: true
  readonly status: number
  readonly headers: HttpResponse['headers']
  readonly body: Body
  /** Set for a body that comes piece by piece; then `body` is undefined. */
  readonly stream?: StreamBody
}

/** The response to a call that was refused. */
export interface ApiRefusal {
  readonly ok: false
  readonly status: number
  readonly headers: HttpResponse['headers']
  readonly problem: ProblemDocument
}

/** The response to a call. */
export type ApiReply<Body> = ApiSuccess<Body> | ApiRefusal

/** The API as pages use it, for one request. */
export interface Api {
  /** Calls a route. It does not throw for a refusal. @throws TypeError for a route that the server does not have */
  call<Body = unknown>(call: ApiCall): Promise<ApiReply<Body>>
  /** The body of a success. @throws RefusedCall, which becomes a page that shows the problem */
  get<Body>(call: ApiCall): Promise<Body>
}

/** A call that a page cannot do without was refused. */
export class RefusedCall extends Error {
  readonly reply: ApiRefusal

  constructor(reply: ApiRefusal) {
    super(reply.problem.code)
    this.reply = reply
  }
}

/** Makes the API of these routes. */
export function createApi(routes: readonly Route[], answer: AnswerByRoute): (request: HttpRequest) => Api {
  const byName = new Map(routes.flatMap((route) => route.methods.map((method) => [`${method} ${route.path}`, route])))
  return (request) => {
    const call = async <Body>(made: ApiCall): Promise<ApiReply<Body>> => {
      const route = byName.get(made.route)
      if (!route) throw new TypeError(`There is no route ${made.route}`)
      return replyOf(await answer(innerRequestOf(request, made), route))
    }
    const get = async <Body>(made: ApiCall): Promise<Body> => {
      const reply = await call<Body>(made)
      if (!reply.ok) throw new RefusedCall(reply)
      return reply.body
    }
    return { call, get }
  }
}

/** The inner request of a call. */
export function innerRequestOf(request: HttpRequest, { route, path = {}, query, body, headers }: ApiCall): HttpRequest {
  const mark = route.indexOf(' ')
  const pattern = route.slice(mark + 1)
  return createInnerRequest(request, {
    method: route.slice(0, mark),
    path: pattern.replace(/:(\w+)/g, (_, name: string) => encodeURIComponent(path[name] ?? '')),
    pathParameters: path,
    query: query instanceof URLSearchParams ? query : queryOf(query ?? {}),
    headers: { ...(body !== undefined && { 'content-type': 'application/json' }), ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  })
}

function queryOf(members: Readonly<Record<string, string | number | boolean | undefined>>): URLSearchParams {
  const given = Object.entries(members).filter(([, value]) => value !== undefined && value !== '')
  return new URLSearchParams(given.map(([name, value]): [string, string] => [name, String(value)]))
}

function replyOf<Body>({ status, headers, body }: HttpResponse): ApiReply<Body> {
  if (typeof body === 'function') return { ok: true, status, headers, body: undefined as Body, stream: body }
  const value = body === null || body === '' ? undefined : JSON.parse(body)
  return status >= 400 ? { ok: false, status, headers, problem: value } : { ok: true, status, headers, body: value }
}

/** The cursor of the next page in the `Link` field of a list (RFC 8288); null on the last page. */
export function nextCursorOf({ link }: HttpResponse['headers']): string | null {
  const lines = link === undefined ? [] : [link].flat()
  const next = lines.flatMap((line) => /<([^>]*)>;[^,]*\brel="next"/.exec(line)?.[1] ?? [])[0]
  return next !== undefined && URL.canParse(next) ? new URL(next).searchParams.get('cursor') : null
}
