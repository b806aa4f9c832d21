/**
 * The session cookie (RFC 6265bis): its name, and how it is set, read and expired (docs/contract.md#session-cookie).
 * Both servers stand under one host name and choose the name of the cookie by the same rule.
 */
import type { HttpCall } from '../../../platform/http/request.ts'

/** The settings of the rule. */
export interface SessionCookieSettings {
  readonly publicOrigins: { readonly auth: string; readonly deal: string }
}

/** The cookie of a server. */
export interface SessionCookie {
  /**
   * The values of all cookies with the name that applies to this request. A cookie of another name is not a credential.
   */
  read(call: HttpCall): string[]
  /** `Set-Cookie` for a new key. The cookie lasts until the browser ends; the server ends the session itself. */
  set(call: HttpCall, key: string): string
  /** `Set-Cookie` that makes a browser forget the key. */
  expire(call: HttpCall): string
}

const plainName = 'keyhold_session'
/** The prefix binds a cookie to HTTPS, to this host and to all its paths (RFC 6265bis §4.1.3.2). */
const secureName = `__Host-${plainName}`

/** The cookie for these settings. */
export function createSessionCookie({ publicOrigins }: SessionCookieSettings): SessionCookie {
  const isPublishedSecurely = Object.values(publicOrigins).some((origin) => origin.startsWith('https:'))
  /** Depends on the scheme that clients see: a proxy may end HTTPS without a forwarding header. */
  const isSecure = (call: HttpCall): boolean => isPublishedSecurely || call.peer.isHttps
  const line = (call: HttpCall, value: string, more = ''): string =>
    isSecure(call)
      ? `${secureName}=${value}; Path=/; HttpOnly; Secure; SameSite=Lax${more}`
      : `${plainName}=${value}; Path=/; HttpOnly; SameSite=Lax${more}`
  return {
    read: (call) => valuesOf(call.header('cookie'), isSecure(call) ? secureName : plainName),
    set: line,
    expire: (call) => line(call, '', '; Max-Age=0'),
  }
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
