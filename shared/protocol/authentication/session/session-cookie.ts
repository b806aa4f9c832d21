/**
 * The session cookie (RFC 6265bis): its name, and how it is set, read and expired
 * (docs/contract/callers.md#session-cookie). Both servers are under one host name and choose the name of the cookie
 * by the same rule.
 */
import type { HttpRequest } from '../../../platform/http/request.ts'

/** The settings of the rule. */
export interface SessionCookieSettings {
  readonly publicOrigins: { readonly auth: string; readonly deal: string }
}

/** The cookie of a server. */
export type SessionCookie = ReturnType<typeof createSessionCookie>

const plainName = 'keyhold_session'
/** The prefix binds a cookie to HTTPS, to this host and to all its paths (RFC 6265bis §4.1.3.2). */
const secureName = `__Host-${plainName}`

/** The cookie for these settings. */
export function createSessionCookie({ publicOrigins }: SessionCookieSettings) {
  const isPublishedSecurely = Object.values(publicOrigins).some((origin) => origin.startsWith('https:'))
  /** Depends on the scheme that clients see: a proxy may end HTTPS without a forwarding header. */
  const isSecure = (request: HttpRequest): boolean => isPublishedSecurely || request.peer.isHttps
  const line = (request: HttpRequest, value: string, more = ''): string =>
    isSecure(request)
      ? `${secureName}=${value}; Path=/; HttpOnly; Secure; SameSite=Lax${more}`
      : `${plainName}=${value}; Path=/; HttpOnly; SameSite=Lax${more}`
  return {
    /** The values of all cookies with the name that applies. A cookie of another name is not a credential. */
    read: (request: HttpRequest): string[] =>
      valuesOf(request.header('cookie'), isSecure(request) ? secureName : plainName),
    /** `Set-Cookie` for a new key. The cookie lasts until the browser ends; the server ends the session itself. */
    set: (request: HttpRequest, key: string): string => line(request, key),
    /** `Set-Cookie` that makes a browser forget the key. */
    expire: (request: HttpRequest): string => line(request, '', '; Max-Age=0'),
  }
}

/**
 * `Set-Cookie` lines that make a browser forget all cookies of the name that it may have sent, also those that others
 * have set. A browser has one cookie at most of a name with the prefix.
 */
export function expireAll(cookie: SessionCookie, request: HttpRequest): string[] {
  const line = cookie.expire(request)
  if (line.startsWith(secureName)) return [line]
  return placesOf(request).map((place) => line.replace('Path=/', place))
}

/**
 * The places for which a cookie that came with this request can have been set (RFC 6265bis §5.8.3), as attributes. Not
 * those of deeper paths and longer names: the answer would be larger than proxies take.
 */
function placesOf(request: HttpRequest): string[] {
  const names = /^(?:\/[\w.~%-]+){0,3}/.exec(request.path)?.[0].split('/').slice(1) ?? []
  const paths = names.map((_, index) => `/${names.slice(0, index + 1).join('/')}`)
  const [host = ''] = /^[a-z0-9.-]{1,253}(?=:|$)/i.exec(request.header('host') ?? '') ?? []
  const labels = /[a-z]/i.test(host) ? host.split('.').slice(-3) : []
  const domains = labels.map((_, index) => `; Domain=${labels.slice(index).join('.')}`)
  return ['/', ...paths.flatMap((path) => [path, `${path}/`])].flatMap((path) =>
    ['', ...domains].map((domain) => `Path=${path}${domain}`),
  )
}

/**
 * The values of the cookies with this name. Names are case-sensitive; the value follows the first `=` (RFC 6265bis
 * §5.7.3).
 */
function valuesOf(header: string | undefined, name: string): string[] {
  if (header === undefined || !header.includes(name)) return []
  return header.split(';').flatMap((pair) => {
    const mark = pair.indexOf('=')
    return mark >= 0 && pair.slice(0, mark).trim() === name ? [pair.slice(mark + 1).trim()] : []
  })
}
