/** A request that a page makes of another route of the same server, on behalf of the reader of the page. */
import type { HttpRequest } from './request.ts'

/** The parts in which it differs from the request for the page. */
export interface InnerRequest {
  readonly method: string
  /** The path with its parameters, encoded. */
  readonly path: string
  readonly pathParameters: Readonly<Record<string, string>>
  readonly query?: URLSearchParams | undefined
  /** Header fields by name in lower case. */
  readonly headers?: Readonly<Record<string, string>> | undefined
  /** The body, whatever `headers` call its type. */
  readonly body?: string | undefined
}

/**
 * The header fields of the page's request that go along: the cookie is the credential, and the others say where the
 * request comes from. No other credential goes along.
 */
const passedOn: ReadonlySet<string> = new Set([
  'cookie',
  'origin',
  'referer',
  'host',
  'user-agent',
  'traceparent',
  'tracestate',
  'sec-fetch-site',
  'sec-fetch-mode',
  'sec-fetch-dest',
  'sec-fetch-user',
])

/** Makes the inner request. It has the id, the peer and the origin of the outer one. */
export function createInnerRequest(outer: HttpRequest, inner: InnerRequest): HttpRequest {
  const query = inner.query ?? new URLSearchParams()
  const bytes = Buffer.from(inner.body ?? '')
  const own: Readonly<Record<string, string>> = {
    ...inner.headers,
    ...(inner.body !== undefined && { 'content-length': String(bytes.length) }),
  }
  const added: (readonly [name: string, value: string])[] = []
  return {
    method: inner.method,
    path: inner.path,
    rawQuery: query.toString(),
    query,
    pathParameters: inner.pathParameters,
    requestId: outer.requestId,
    traceId: outer.traceId,
    peer: outer.peer,
    isCredentialParameter: outer.isCredentialParameter,
    header: (name) => own[name] ?? (passedOn.has(name) ? outer.header(name) : undefined),
    headerLines: (name) => {
      const value = own[name]
      if (value !== undefined) return [value]
      return passedOn.has(name) ? outer.headerLines(name) : []
    },
    readBody: () => Promise.resolve(bytes),
    hasClosed: () => outer.hasClosed(),
    refuseLargeBody: () => {},
    addResponseHeader: (name, value) => added.push([name, value]),
    addedResponseHeaders: added,
    get caller() {
      return outer.caller
    },
    set caller(caller) {
      outer.caller = caller
    },
  }
}
