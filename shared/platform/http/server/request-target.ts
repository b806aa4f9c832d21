/**
 * Checks of the request line before routing, on the text that the client sent. A URL parser would change it, and a
 * proxy in front may have decided by the original text.
 */
import type { IncomingMessage } from 'node:http'
import { isLoopbackHost } from '../../loopback.ts'

/**
 * A segment `.` or `..`, also with percent-encoded octets or slashes, and with characters that URL parsers treat as a
 * slash.
 */
const dotSegment = /^[^?#]*(?:[/\\]|%2f|%5c)(?:\.|%2e){1,2}(?=$|[?#/\\]|%2f|%5c)/i

/** The same with a parameter behind the dots, or a backslash anywhere in the path. */
const otherwiseRead = /^[^?#]*(?:\\|%5c|(?:\/|%2f)(?:\.|%2e){1,2}(?:;|%3b))/i

/** True for a target with a dot segment in its path (RFC 3986 §3.3), plain or encoded in any way. */
export const hasDotSegment = (target: string): boolean =>
  // Most targets have neither character, and this check is cheaper than the expression.
  (target.includes('.') || target.includes('%')) && dotSegment.test(target)

/**
 * True for a target that some services read as one with a dot segment: Tomcat and Spring drop the parameter of
 * `/..;x/`, and others take a backslash for a slash.
 */
export const mayHideDotSegment = (target: string): boolean => otherwiseRead.test(target)

/** A percent-encoded letter, digit, `-`, `.`, `_` or `~`. */
const encodedUnreserved = /^[^?#]*%(?:2[de]|3\d|4[1-9a-f]|5[\daf]|6[1-9a-f]|7[\dae])/i

/**
 * True for a target that encodes unreserved characters in its path (RFC 3986 §2.3). The same path has another spelling
 * then, and a rule of a proxy in front may know one of them.
 */
export const encodesUnreserved = (target: string): boolean => target.includes('%') && encodedUnreserved.test(target)

/** The authority of a request (RFC 9112 §3.3); undefined where there is none, as in HTTP/1.0 without `Host`. */
function authorityOf({ url = '', headers }: IncomingMessage): string | undefined {
  if (url.startsWith('/')) return headers.host
  return /^[a-z][a-z0-9+.-]*:\/\/([^/?#\\]*)/i.exec(url)?.[1] ?? headers.host
}

interface ServedHosts {
  /** HOST. */
  readonly host: string
  /** The origins under which clients see the servers. */
  readonly publicOrigins: Readonly<Record<string, string>>
}

type HostRule = (request: IncomingMessage) => 'served' | 'foreign' | 'malformed'

/**
 * A loopback listener serves only names of this machine and of the public origins, on any port. Otherwise a page of
 * another site could let its own name resolve to 127.0.0.1 and call this server as its own origin (DNS rebinding).
 * Other listeners serve every host: they do not know the names and addresses by which clients reach this machine.
 */
export function createHostRule({ host, publicOrigins }: ServedHosts): HostRule {
  if (!isLoopbackHost(host)) return () => 'served'
  const names = new Set(Object.values(publicOrigins).map((origin) => new URL(origin).hostname))
  // Most requests repeat the last authority.
  let lastServed: string | undefined
  return (request) => {
    const authority = authorityOf(request)
    if (authority === undefined || authority === lastServed) return 'served'
    const name = hostnameOf(authority)
    if (name === undefined) return 'malformed'
    if (!isLoopbackHost(name) && !names.has(name)) return 'foreign'
    lastServed = authority
    return 'served'
  }
}

/** The host name without port and without a final dot; undefined for an invalid authority. */
const hostnameOf = (authority: string): string | undefined => urlOf(authority)?.hostname.replace(/\.$/, '')

/**
 * An authority with its IPv6 address in the shortest spelling (RFC 5952) and without a zone (RFC 6874). Others stay as
 * they are.
 */
export const plainAuthority = (authority: string): string =>
  authority.startsWith('[') ? (urlOf(authority)?.host ?? authority) : authority

function urlOf(authority: string): URL | undefined {
  const text = `http://${authority.replace(/^(\[[^\]%]*)%[^\]]*\]/, '$1]')}`
  return URL.canParse(text) ? new URL(text) : undefined
}
