/**
 * Pages call the HTTP API of their own server, in the same process: each form becomes a request of an existing route,
 * with all steps of its pipeline. So a page can do nothing that the API does not allow. The types of a call are those
 * of the route's definition (`auth-api.ts`, `deal-api.ts`).
 */
import { createInnerRequest } from '../../shared/platform/http/inner-request.ts'
import type { HttpRequest } from '../../shared/platform/http/request.ts'
import type { HttpResponse } from '../../shared/platform/http/response.ts'
import type { RouteTypes } from '../../shared/platform/http/route-types.ts'
import type { AnswerByRoute, PathParameters, Route } from '../../shared/platform/http/server/routes.ts'
import type { StreamBody } from '../../shared/platform/http/stream.ts'
import type { ProblemDocument } from '../../shared/platform/problems/problem-document.ts'

/** The types of all routes of a server, by name. */
export type RouteTable = Readonly<Record<string, RouteTypes>>

/** Members that are undefined or empty are left out. Of a whole query, the API checks the names too. */
type Query<Name extends string> =
  | URLSearchParams
  | { readonly [Member in Name]?: string | number | boolean | undefined }

/** The parts of a call, for routes of all types. */
interface CallParts {
  /** The parameters of the pattern, not encoded. */
  readonly path?: Readonly<Record<string, string>> | undefined
  readonly query?: Query<string>
  /** Sent as JSON; a text as it is. */
  readonly body?: unknown
  /** Header fields by name in lower case, such as `if-match`. */
  readonly headers?: Readonly<Record<string, string>>
}

type PathOf<Name extends string> = Name extends `${string} ${infer Path}`
  ? Path extends `${string}:${string}`
    ? PathParameters<Path>
    : undefined
  : never

/** A member that may be left out when its value may be undefined. */
type Member<Name extends string, Value> = undefined extends Value
  ? { readonly [Key in Name]?: Value }
  : { readonly [Key in Name]: Value }

/** The parts of a call of this route. */
type PartsOf<Types extends RouteTypes> = Member<'path', PathOf<Types['name']>> &
  Member<'body', Types['body']> & { readonly query?: Query<Types['query']> } & Pick<CallParts, 'headers'>

/** A route that needs no part is called by its name alone. */
type CallOf<Types extends RouteTypes> =
  Partial<PartsOf<Types>> extends PartsOf<Types> ? [parts?: PartsOf<Types>] : [parts: PartsOf<Types>]

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

/** The API as pages use it, for one request. Routes go by name: `PUT /users/:username/password`. */
export interface Api<Routes extends RouteTable> {
  /** Calls a route. It does not throw for a refusal. @throws TypeError for a route that is not served */
  call<Name extends keyof Routes & string>(
    name: Name,
    ...call: CallOf<Routes[Name]>
  ): Promise<ApiReply<Routes[Name]['reply']>>
  /** The body of a success. @throws RefusedCall, which becomes a page that shows the problem */
  get<Name extends keyof Routes & string>(name: Name, ...call: CallOf<Routes[Name]>): Promise<Routes[Name]['reply']>
}

/** A call that a page cannot do without was refused. */
export class RefusedCall extends Error {
  readonly reply: ApiRefusal

  constructor(reply: ApiRefusal) {
    super(reply.problem.code)
    this.reply = reply
  }
}

/** Makes the API for a request. `onRefusal` sees each refusal first. */
export type ApiOf<Routes extends RouteTable> = (
  request: HttpRequest,
  onRefusal?: (refusal: ApiRefusal) => void,
) => Api<Routes>

/** Makes the API of these routes. */
export function createInnerApi<Routes extends RouteTable>(
  routes: readonly Route[],
  answer: AnswerByRoute,
): ApiOf<Routes> {
  const byName = new Map(routes.flatMap((route) => route.methods.map((method) => [`${method} ${route.path}`, route])))
  return function apiOf(request, onRefusal) {
    async function send<Body>(name: string, parts?: CallParts): Promise<ApiReply<Body>> {
      const route = byName.get(name)
      if (!route) throw new TypeError(`There is no route ${name}`)
      const reply = replyOf<Body>(await answer(innerRequestOf(request, name, parts), route))
      if (!reply.ok) onRefusal?.(reply)
      return reply
    }
    return {
      call: (name, ...[parts]) => send(name, parts),
      get: async (name, ...[parts]) => bodyOf(await send(name, parts)),
    }
  }
}

/** @throws RefusedCall */
function bodyOf<Body>(reply: ApiReply<Body>): Body {
  if (!reply.ok) throw new RefusedCall(reply)
  return reply.body
}

function innerRequestOf(request: HttpRequest, name: string, parts: CallParts = {}): HttpRequest {
  const { path = {}, query = {}, body, headers } = parts
  const mark = name.indexOf(' ')
  const pattern = name.slice(mark + 1)
  return createInnerRequest(request, {
    method: name.slice(0, mark),
    path: pattern.replace(/:(\w+)/g, (_, parameter: string) => encodeURIComponent(path[parameter] ?? '')),
    pathParameters: path,
    query: query instanceof URLSearchParams ? query : queryOf(query),
    headers: { ...(body !== undefined && { 'content-type': 'application/json' }), ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  })
}

function queryOf(members: Exclude<Query<string>, URLSearchParams>): URLSearchParams {
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
  const next = lines.flatMap((line) => /<([^<>]*)>;[^,]*\brel="next"/.exec(line)?.[1] ?? [])[0]
  return next !== undefined && URL.canParse(next) ? new URL(next).searchParams.get('cursor') : null
}
