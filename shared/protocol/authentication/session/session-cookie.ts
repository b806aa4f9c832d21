/**
 * The session cookie (RFC 6265bis): its name, how it is set, read and taken back. Writer and reader are the two servers under one host
 * name; both choose the name by the same rule, so that they agree.
 */
import type { HttpCall } from '../../../platform/http/call.ts'

/** Of the settings, what the rule reads. */
export interface SessionCookieSettings {
  readonly publicOrigins: { readonly auth: string; readonly deal: string }
}

export interface SessionCookie {
  /** The values of every cookie of the name that counts for this request; one of another name is no credential. */
  read(call: HttpCall): string[]
  /** `Set-Cookie` for a new key; it lasts as long as the browser, the session itself no longer than the server says. */
  set(call: HttpCall, key: string): string
  /** `Set-Cookie` that makes a browser forget the key. */
  expire(call: HttpCall): string
}

const plainName = 'keyhold_session'
/** The prefix binds a cookie to HTTPS, to this host and to the whole of it (RFC 6265bis §4.1.3.2). */
const secureName = `__Host-${plainName}`

/** The cookie for these settings. */
export function createSessionCookie({ publicOrigins }: SessionCookieSettings): SessionCookie {
  const isPublishedSecurely = Object.values(publicOrigins).some((origin) => origin.startsWith('https:'))
  /** By what clients see: a proxy may have taken HTTPS off without a word. */
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

/** Names are case-sensitive; the value is what stands behind the first `=` (RFC 6265bis §5.7.3, as servers see it). */
function valuesOf(header: string | undefined, name: string): string[] {
  if (header === undefined || !header.includes(name)) return []
  return header.split(';').flatMap((pair) => {
    const mark = pair.indexOf('=')
    return mark >= 0 && pair.slice(0, mark).trim() === name ? [pair.slice(mark + 1).trim()] : []
  })
}
