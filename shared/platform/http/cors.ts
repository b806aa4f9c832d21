/**
 * Cross-origin resource sharing (CORS, Fetch §3.3): lets scripts of some origins call with credentials. An answer to
 * another origin has none of these fields, so that the browser hides it from scripts.
 */

import type { HttpRequest } from './request.ts'
import type { HttpResponse } from './response.ts'

/** Header fields that scripts may use, besides those that every script may send and read (Fetch §3.3.3, §3.3.4). */
export interface CorsFields {
  /** The fields that preflights always name. */
  readonly request: readonly string[]
  /** The fields that scripts may read. With credentials, `*` would be the name of a field. */
  readonly response: readonly string[]
}

/** How long a browser may keep the result of a preflight, in seconds. Chromium limits it to 7200. */
const preflightSeconds = '7200'

/** Adds the CORS fields to an answer. */
export type Cors = (request: HttpRequest, response: HttpResponse) => HttpResponse

/**
 * CORS for pages of these origins. An answer that already allows origins stays unchanged. `isOpen` says which requests
 * of pages of other origins may be made without credentials: browsers then send no cookie, and show the answer.
 */
export function createCors(
  origins: ReadonlySet<string>,
  { request, response: readable }: CorsFields,
  isOpen: (request: HttpRequest, origin: string) => boolean,
): Cors {
  const fields = { request: request.join(', '), response: readable.join(', ') }
  return (request, response) => {
    if (response.headers['access-control-allow-origin'] !== undefined) return response
    const headers = { ...response.headers, vary: withOrigin(response.headers.vary) }
    const origin = request.header('origin')
    const isTrusted = origin !== undefined && origins.has(origin)
    if (origin === undefined || (!isTrusted && !isOpen(request, origin))) return { ...response, headers }
    const allowed = {
      'access-control-allow-origin': origin,
      ...(isTrusted && { 'access-control-allow-credentials': 'true' }),
    }
    return { ...response, headers: { ...headers, ...allowed, ...fieldsOf(request, response, fields) } }
  }
}

function fieldsOf(
  request: HttpRequest,
  { headers }: HttpResponse,
  fields: { readonly request: string; readonly response: string },
): HttpResponse['headers'] {
  const { allow } = headers
  const isPreflight = request.method === 'OPTIONS' && request.header('access-control-request-method') !== undefined
  if (!isPreflight || allow === undefined) return { 'access-control-expose-headers': fields.response }
  return {
    'access-control-allow-methods': allow,
    'access-control-allow-headers': [fields.request, ...askedFor(request)].join(', '),
    'access-control-max-age': preflightSeconds,
  }
}

/**
 * The fields that the script wants to send. Libraries add fields of their own, such as those of a tracing system. The
 * origin is trusted, and servers ignore fields that they do not know.
 */
const askedFor = (request: HttpRequest): string[] =>
  (request.header('access-control-request-headers') ?? '')
    .split(',')
    .map((name) => name.trim())
    .filter((name) => /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(name))

/** Caches must not use the answer for one origin for another origin (Fetch §3.3.5). */
const withOrigin = (vary: HttpResponse['headers'][string] | undefined): string =>
  vary === undefined ? 'Origin' : `${typeof vary === 'string' ? vary : vary.join(', ')}, Origin`
