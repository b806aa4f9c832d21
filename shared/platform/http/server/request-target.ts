/**
 * What is looked at on a request line before anything is routed, as it came from the client: a URL parser would change it first, and
 * a proxy in front may have decided by what it said.
 */
import type { IncomingMessage } from 'node:http'
import { isLoopbackHost } from '../../loopback.ts'

/** A segment `.` or `..`, with octets or slashes percent-encoded or not, and with what URL parsers take for a slash. */
const dotSegment = /^[^?#]*(?:[/\\]|%2f|%5c)(?:\.|%2e){1,2}(?=$|[?#/\\]|%2f|%5c)/i

/** True for a target with a dot segment in its path (RFC 3986 §3.3), plain or encoded in any way. */
export const hasDotSegment = (target: string): boolean =>
  // Most targets have neither sign; to look for them costs less than the expression.
  (target.includes('.') || target.includes('%')) && dotSegment.test(target)

/** The authority that a request is for (RFC 9112 §3.3); undefined where there is none, as in HTTP/1.0 without `Host`. */
function authorityOf({ url = '', headers }: IncomingMessage): string | undefined {
  if (url.startsWith('/')) return headers.host
  return /^[a-z][a-z0-9+.-]*:\/\/([^/?#\\]*)/i.exec(url)?.[1] ?? headers.host
}

/** What a listener answers to. */
export interface ServedHosts {
  /** HOST. */
  readonly host: string
  /** Under which clients see the servers. */
  readonly publicOrigins: Readonly<Record<string, string>>
}

/** What a request is by the host that it is for. */
export type HostRule = (request: IncomingMessage) => 'served' | 'foreign' | 'malformed'

/**
 * On a loopback listener only names of this machine and of the public origins are served, on any port: a page of another site can have
 * its own name resolve to 127.0.0.1 and would call here as its own origin (DNS rebinding). Elsewhere every host is: names and addresses
 * by which others reach this machine are not known here.
 */
export function createHostRule({ host, publicOrigins }: ServedHosts): HostRule {
  if (!isLoopbackHost(host)) return () => 'served'
  const names = new Set(Object.values(publicOrigins).map((origin) => new URL(origin).hostname))
  // Most requests repeat it.
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

/** Without the port and the dot of a name that is complete; undefined for what is no authority. */
function hostnameOf(authority: string): string | undefined {
  try {
    return new URL(`http://${authority}`).hostname.replace(/\.$/, '')
  } catch {
    return undefined
  }
}
