/**
 * Which pages' scripts may call with credentials (CORS, Fetch §3.3): those of both servers, and of CORS_ORIGINS. Pages of other origins
 * get no word of it, so that a browser keeps the answer from them.
 */
import type { Answer } from './answer.ts'
import type { HttpCall } from './call.ts'

/** What may be sent beside what scripts may send anyway. */
const requestFields = [
  ...['Authorization', 'Content-Type', 'Content-Digest', 'If-Match', 'If-None-Match', 'Idempotency-Key', 'Prefer'],
  ...['Last-Event-ID', 'Signature', 'Signature-Input', 'X-HTTP-Method-Override', 'X-Key-Signed-Password'],
].join(', ')

/** What scripts may read beside what they may read anyway. With credentials a `*` would be the name of a field. */
const answerFields = [
  ...['Allow', 'Authentication-Info', 'Date', 'Deal-Changed', 'Deal-Use-Cases', 'Deal-Validated-Only', 'Deprecation'],
  ...['ETag', 'Idempotent-Replayed', 'Link', 'Location', 'Preference-Applied', 'Retry-After', 'Sunset'],
  ...['WWW-Authenticate', 'X-Request-Id'],
].join(', ')

/** How long a browser may remember a preflight, in seconds; Chromium's own limit is 7200. */
const preflightSeconds = '7200'

/** Gives an answer what a browser must read in it before a script may. */
export type Cors = (call: HttpCall, answer: Answer) => Answer

/** CORS for pages of these origins. An answer that is for all pages already stays so. */
export function createCors(origins: ReadonlySet<string>): Cors {
  return (call, answer) => {
    if (answer.headers['access-control-allow-origin'] !== undefined) return answer
    const headers = { ...answer.headers, vary: withOrigin(answer.headers.vary) }
    const origin = call.header('origin')
    if (origin === undefined || !origins.has(origin)) return { ...answer, headers }
    const allowed = { 'access-control-allow-origin': origin, 'access-control-allow-credentials': 'true' }
    return { ...answer, headers: { ...headers, ...allowed, ...fieldsOf(call, answer) } }
  }
}

function fieldsOf(call: HttpCall, { headers }: Answer): Answer['headers'] {
  const { allow } = headers
  const isPreflight = call.method === 'OPTIONS' && call.header('access-control-request-method') !== undefined
  if (!isPreflight || allow === undefined) return { 'access-control-expose-headers': answerFields }
  return {
    'access-control-allow-methods': allow,
    'access-control-allow-headers': requestFields,
    'access-control-max-age': preflightSeconds,
  }
}

/** Caches must not hand the answer for one origin to another (Fetch §3.3.5). */
const withOrigin = (vary: Answer['headers'][string] | undefined): string =>
  vary === undefined ? 'Origin' : `${typeof vary === 'string' ? vary : vary.join(', ')}, Origin`
