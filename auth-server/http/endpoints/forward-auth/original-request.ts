/**
 * The request that a proxy asks about (docs/forward-auth.md): its method, target, host and scheme are in header fields
 * that the proxy writes. A client that could choose them would get a verdict about a request that it does not make. So
 * they count from proxies whose addresses TRUST_PROXY names, and anything unclear is refused.
 */
import type { HttpRequest } from '../../../../shared/platform/http/request.ts'
import {
  encodesUnreserved,
  hasDotSegment,
  mayHideDotSegment,
} from '../../../../shared/platform/http/server/request-target.ts'
import { ProblemError } from '../../../../shared/platform/problems/errors.ts'
import { isSafeMethod } from '../../../../shared/protocol/authentication/scheme.ts'

/** A token (RFC 9110 §9.1). */
const methodForm = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,32}$/
/** Path and query as on the request line (RFC 9112 §3.2.1): visible ASCII without `#`. */
const targetForm = /^\/[!"$-~]*$/
/** A name, an IPv4 address or an IPv6 address, with or without a port (RFC 3986 §3.2.2). */
const hostForm = /^(?:[A-Za-z0-9._-]{1,253}|\[[0-9A-Fa-f:.]{2,45}\])(?::\d{1,5})?$/

/**
 * The request that `outer` asks about. It has the credential and all other fields of the client, because the proxy
 * passes them on.
 * @throws ProblemError `untrusted-proxy`, `invalid-original-request`
 */
export function originalRequestOf(outer: HttpRequest): HttpRequest {
  if (outer.peer.isNamedByProxy !== true) throw untrustedProxy()
  const method = onlyLine(outer, 'x-forwarded-method', methodForm)
  const target = onlyLine(outer, 'x-forwarded-uri', targetForm)
  const host = onlyLine(outer, 'x-forwarded-host', hostForm)
  const scheme = onlyLine(outer, 'x-forwarded-proto', /^https?$/i).toLowerCase()
  if (hasDotSegment(target)) throw invalid('the path has a segment . or .., plain or percent-encoded')
  if (mayHideDotSegment(target)) throw invalid('the path has a segment . or .. with a parameter, or a backslash')
  if (encodesUnreserved(target)) throw invalid('the path encodes a letter, a digit, -, ., _ or ~')
  const isHttps = scheme === 'https'
  // A client that used plain HTTP stays one, even when the proxy itself comes over HTTPS.
  const mayCarryCredentials = outer.peer.mayCarryCredentials && (isHttps || !outer.peer.isHttps)
  const { address } = outer.peer
  return createOriginalRequest(outer, {
    method,
    target,
    host,
    origin: originOf(scheme, host),
    peer: { address, isHttps, mayCarryCredentials },
    bodyLength: bodyLengthIn(outer),
  })
}

/** The value of a field that is there once, in this form. @throws ProblemError `invalid-original-request` */
function onlyLine(request: HttpRequest, name: string, form: RegExp): string {
  const [value, ...others] = request.headerLines(name)
  if (value === undefined || others.length > 0) throw invalid(`${name} must be there exactly once`)
  if (!form.test(value)) throw invalid(`${name} has not the right form`)
  return value
}

function originOf(scheme: string, host: string): string {
  try {
    return new URL(`${scheme}://${host}`).origin
  } catch {
    throw invalid('x-forwarded-host names no host')
  }
}

/** The parameter `bodyLength`. Another text than a number says nothing here; the route refuses it later. */
function bodyLengthIn({ query }: HttpRequest): number | undefined {
  const stated = query.get('bodyLength') ?? ''
  return /^\d{1,15}$/.test(stated) ? Number(stated) : undefined
}

interface OriginalParts {
  readonly method: string
  readonly target: string
  readonly host: string
  readonly origin: string
  readonly peer: HttpRequest['peer']
  /** In bytes; undefined when the proxy does not tell it. */
  readonly bodyLength: number | undefined
}

function createOriginalRequest(outer: HttpRequest, parts: OriginalParts): HttpRequest {
  const { method, target, host, origin, peer } = parts
  const mark = target.indexOf('?')
  const rawQuery = mark < 0 ? '' : target.slice(mark + 1)
  let query: URLSearchParams | undefined
  const linesOf = (name: string): string[] => {
    if (name === 'host') return [host]
    // An empty body of the proxy's request says nothing about the body of its client.
    return name === 'content-length' && outer.header(name) === '0' ? [] : outer.headerLines(name)
  }
  return {
    method,
    path: mark < 0 ? target : target.slice(0, mark),
    rawQuery,
    get query() {
      query ??= new URLSearchParams(rawQuery)
      return query
    },
    foreignOrigin: origin,
    pathParameters: {},
    requestId: outer.requestId,
    get traceId() {
      return outer.traceId
    },
    peer,
    isCredentialParameter: outer.isCredentialParameter,
    header: (name) => (name === 'host' || name === 'content-length' ? linesOf(name)[0] : outer.header(name)),
    headerLines: linesOf,
    readBody: () => readOriginalBody(outer, parts),
    hasClosed: () => outer.hasClosed(),
    refuseLargeBody: () => {},
    addResponseHeader: (name, value) => outer.addResponseHeader(name, value),
    get addedResponseHeaders() {
      return outer.addedResponseHeaders
    },
    get caller() {
      return outer.caller
    },
    set caller(caller) {
      outer.caller = caller
    },
  }
}

/**
 * The body of the original request, where the proxy passed it on or says that there is none. A safe request of which
 * nothing is said has none: a body means nothing there (RFC 9110 §9.3.1).
 * @throws ProblemError `body-not-forwarded`, `invalid-original-request`
 */
async function readOriginalBody(outer: HttpRequest, { method, bodyLength }: OriginalParts): Promise<Buffer> {
  const body = await outer.readBody()
  if (body.length === 0) {
    if (bodyLength === 0 || (bodyLength === undefined && isSafeMethod(method))) return body
    throw bodyNotForwarded()
  }
  if (bodyLength === undefined || bodyLength === body.length) return body
  throw invalid('bodyLength is not the length of the body that the proxy passed on')
}

const untrustedProxy = () =>
  new ProblemError(
    'untrusted-proxy',
    'Only a proxy whose address is in TRUST_PROXY may ask here, and it must name its client in X-Forwarded-For. ' +
      'A number of hops and a range of all addresses name no proxy.',
  )

const invalid = (reason: string) =>
  new ProblemError('invalid-original-request', `The request that the proxy asks about is not known: ${reason}.`)

const bodyNotForwarded = () =>
  new ProblemError(
    'body-not-forwarded',
    'The signature is to bind the body, and the proxy neither passed the body on nor said that there is none.',
  )
