/**
 * The address of the client, and whether others could read the connection. Both come from the socket, or from the
 * forwarding headers of proxies that the operator trusts (TRUST_PROXY). These headers are read from the right, because
 * all entries to the left of the entry of a trusted proxy were written by the client. A proxy writes `Forwarded`,
 * `X-Forwarded-*` or `X-Real-IP`, and may pass on the others as its client wrote them. If they contradict each other,
 * the client is unknown, and the request is refused.
 */
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import ipaddr from 'ipaddr.js'
import { type IpRange, parseIpRange } from '../ip-range.ts'
import { ProblemError } from '../problems/errors.ts'

/** The trusted proxies in front of this server: their number, or their addresses. */
export type TrustedProxies = { readonly hops: number } | { readonly ranges: readonly IpRange[] }

/** TRUST_PROXY and ALLOW_INSECURE_HTTP. */
export interface TransportSettings {
  readonly trustProxy: TrustedProxies
  readonly allowInsecureHttp: boolean
}

/** The client of a request. */
export interface Peer {
  /** The canonical address: IPv4 in dotted form, also when mapped into IPv6. */
  readonly address: string
  /**
   * True if credentials may be accepted: over HTTPS, from loopback without a proxy, or because the operator allows it.
   */
  readonly mayCarryCredentials: boolean
  /** True if the client uses HTTPS, here or at a trusted proxy. */
  readonly isHttps: boolean
  /**
   * True if forwarding headers of a trusted proxy contradict each other. `address` is then that of the proxy and not of
   * a client.
   */
  readonly isContradicted?: boolean
  /**
   * True if a proxy whose address TRUST_PROXY names wrote the forwarding headers and named the client in them. A number
   * of hops and a range of all addresses name no proxy: with them, every machine that reaches this server counts as
   * one.
   */
  readonly isNamedByProxy?: boolean
}

/** Reads TRUST_PROXY: a number, or comma-separated CIDRs and addresses. Undefined for other text. */
export function parseTrustedProxies(text: string): TrustedProxies | undefined {
  if (/^\d{1,2}$/.test(text)) return { hops: Number(text) }
  const parts = text.split(',')
  const ranges = parts.flatMap((part) => {
    const range = parseIpRange(part.trim())
    return range ? [range] : []
  })
  return ranges.length === parts.length ? { ranges } : undefined
}

/** The canonical text of an address, given with or without a port; undefined for other text. */
export function canonicalAddress(text: string): string | undefined {
  const bare = text.replace(/^(?:\[(.*)\]|([\d.]+))(?::\d+)?$/, '$1$2').replace(/%.*$/s, '')
  return ipaddr.isValid(bare) ? ipaddr.process(bare).toString() : undefined
}

const addresses = new WeakMap<Socket, string>()

/** The canonical address of the other end of a connection, computed once for all its requests. */
export function addressOf(socket: Socket): string {
  const known = addresses.get(socket)
  if (known !== undefined) return known
  const address = canonicalAddress(socket.remoteAddress ?? '') ?? '0.0.0.0'
  addresses.set(socket, address)
  return address
}

/** The peer of a request. */
export const peerOf = (incoming: IncomingMessage, settings: TransportSettings): Peer =>
  peerBehind(incoming, endOf(incoming.socket), settings)

/**
 * The other end of a connection. The socket alone says whether it is encrypted: a client may write `https:` into its
 * request line. A socket of HTTP/2 has the member also without TLS.
 */
export const endOf = (socket: Socket): ConnectionEnd => ({
  address: addressOf(socket),
  encrypted: 'encrypted' in socket && socket.encrypted === true,
})

/** The other end of a connection. */
export interface ConnectionEnd {
  /** The canonical address. */
  readonly address: string
  /** True for a connection over TLS. */
  readonly encrypted: boolean
}

/** The peer of a request with these header fields that came over this connection. */
export function peerBehind(
  { headers }: { readonly headers: IncomingHttpHeaders },
  { address: peerAddress, encrypted }: ConnectionEnd,
  settings: TransportSettings,
): Peer {
  const hasForwarding = carriesForwardingHeaders(headers)
  const trusted = hasForwarding ? trustedClient(headers, peerAddress, settings.trustProxy) : undefined
  const direct = isLoopback(peerAddress) && !hasForwarding
  const isHttps = encrypted || trusted?.https === true
  return {
    address: trusted?.address ?? peerAddress,
    mayCarryCredentials: settings.allowInsecureHttp || isHttps || direct,
    isHttps,
    isContradicted: trusted?.isContradicted === true,
    isNamedByProxy: trusted?.address !== undefined && namesProxies(settings.trustProxy),
  }
}

const namesProxies = (trust: TrustedProxies): boolean => 'ranges' in trust && trust.ranges.every(([, bits]) => bits > 0)

/** Refuses a request with contradicting forwarding headers. @throws ProblemError `contradicting-forwarding-headers` */
export function refuseContradiction(): never {
  throw new ProblemError(
    'contradicting-forwarding-headers',
    'Forwarded, X-Forwarded-For, X-Forwarded-Proto and X-Real-IP do not name one client. The proxy must write or remove each of them.',
  )
}

/**
 * Call it before reading a credential. @throws ProblemError `insecure-transport` when the peer may not send credentials
 */
export function requireSecureTransport(peer: Peer): void {
  if (peer.mayCarryCredentials) return
  throw new ProblemError(
    'insecure-transport',
    'This request came over plain HTTP. Use HTTPS; behind a proxy, TRUST_PROXY tells the server to believe its headers.',
  )
}

function carriesForwardingHeaders(headers: IncomingHttpHeaders): boolean {
  if (headers.forwarded !== undefined || headers['x-real-ip'] !== undefined) return true
  for (const name in headers) if (name.startsWith('x-forwarded-')) return true
  return false
}

const isLoopback = (address: string): boolean => address === '::1' || address.startsWith('127.')

interface TrustedClient {
  readonly address: string | undefined
  readonly https: boolean
  readonly isContradicted: boolean
}

/** The client as the outermost trusted proxy saw it; undefined when the peer is not a trusted proxy. */
function trustedClient(
  headers: IncomingHttpHeaders,
  peerAddress: string,
  trust: TrustedProxies,
): TrustedClient | undefined {
  const chains = forwardedChains(headers).map((hops) => trustedPart(hops, peerAddress, trust))
  if (chains.some((hops) => hops.length === 0)) return undefined
  const addresses = distinct(chains.map(([client]) => comparable(client?.address)))
  const schemes = distinct(chains.map(([client]) => client?.scheme))
  const realIp = comparable(listOf(headers['x-real-ip']).at(-1))
  const [address = realIp] = addresses
  const isContradicted = addresses.length > 1 || schemes.length > 1 || isOfNoHop(realIp, chains)
  return {
    address: isContradicted || address === undefined ? undefined : canonicalAddress(address),
    https: !isContradicted && schemes[0] === 'https',
    isContradicted,
  }
}

/**
 * One text for all spellings of an address. Other text, such as `unknown` (RFC 7239 §6.2), stays as it is. Undefined
 * for no text.
 */
const comparable = (text: string | undefined): string | undefined =>
  text ? (canonicalAddress(text) ?? text.toLowerCase()) : undefined

/**
 * True if X-Real-IP names no hop. The nearest proxy writes the field or keeps that of a proxy before it, so any hop is
 * valid.
 */
const isOfNoHop = (realIp: string | undefined, chains: readonly (readonly Hop[])[]): boolean =>
  realIp !== undefined &&
  chains.some((hops) => {
    const [client, ...others] = hops.map(({ address }) => comparable(address))
    return client !== undefined && client !== realIp && !others.includes(realIp)
  })

const distinct = (texts: readonly (string | undefined)[]): string[] => [
  ...new Set(texts.flatMap((text) => (text ? [text] : []))),
]

/** The hops that trusted proxies have written, from the client on. Empty when the peer is not trusted. */
function trustedPart(hops: readonly Hop[], peerAddress: string, trust: TrustedProxies): readonly Hop[] {
  const count = countTrusted([...hops.map((hop) => hop.address), peerAddress], trust)
  return count === 0 ? [] : hops.slice(Math.max(0, hops.length - count))
}

function countTrusted(addresses: readonly (string | undefined)[], trust: TrustedProxies): number {
  if ('hops' in trust) return Math.min(trust.hops, addresses.length - 1)
  let count = 0
  while (count < addresses.length - 1 && isWithin(addresses[addresses.length - 1 - count], trust.ranges)) count += 1
  return count
}

function isWithin(text: string | undefined, ranges: Extract<TrustedProxies, { ranges: unknown }>['ranges']): boolean {
  const canonical = text === undefined ? undefined : canonicalAddress(text)
  if (canonical === undefined) return false
  const address = ipaddr.parse(canonical)
  return ranges.some(([range, bits]) => range.kind() === address.kind() && address.match([range, bits] as never))
}

/** Clients can fill a whole header field with hops. No request passes this many proxies. */
const maxHops = 32

interface Hop {
  readonly address: string | undefined
  readonly scheme: string | undefined
}

/**
 * The hops in `Forwarded` (RFC 7239), if present, and in `X-Forwarded-*`, leftmost first. Each chain has at least one
 * hop.
 */
function forwardedChains(headers: IncomingHttpHeaders): Hop[][] {
  const standard = headers.forwarded
  const others = otherHops(headers)
  return standard === undefined ? [others] : [standard.split(',').slice(-maxHops).map(parseForwardedElement), others]
}

function otherHops(headers: IncomingHttpHeaders): Hop[] {
  const addresses = listOf(headers['x-forwarded-for'])
  const schemes = listOf(headers['x-forwarded-proto'])
  const length = Math.max(addresses.length, schemes.length, 1)
  const fromRight = <T>(list: T[], index: number): T | undefined => list[list.length - length + index] ?? undefined
  return Array.from({ length }, (_, index) => ({
    address: fromRight(addresses, index),
    scheme: (schemes.length === 1 ? schemes[0] : fromRight(schemes, index))?.toLowerCase(),
  }))
}

function parseForwardedElement(element: string): Hop {
  const pairs = new Map(
    element.split(';').map((pair) => {
      const [name = '', value = ''] = pair.split('=', 2)
      return [name.trim().toLowerCase(), value.trim().replace(/^"(.*)"$/, '$1')] as const
    }),
  )
  return { address: pairs.get('for'), scheme: pairs.get('proto')?.toLowerCase() }
}

const listOf = (value: string | string[] | undefined): string[] =>
  value === undefined
    ? []
    : String(value)
        .split(',')
        .slice(-maxHops)
        .map((part) => part.trim())
