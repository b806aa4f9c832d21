/**
 * Which addresses a server may connect to on behalf of a client who chose the URL. Everything but public addresses is
 * refused: private and shared networks, loopback, link-local addresses with the metadata services of clouds, multicast,
 * and the ways in which IPv6 can write an IPv4 address.
 */
import ipaddr from 'ipaddr.js'
import { type IpRange, parseIpRange } from '../ip-range.ts'

/** A network, such as `10.0.0.0/8`, in the text form that was read. */
export interface Network {
  readonly text: string
  readonly range: IpRange
}

/** Reads `address/bits` or a single address; undefined for anything else. */
export function parseNetwork(text: string): Network | undefined {
  const range = parseIpRange(text)
  return range && { text, range }
}

/** The networks of this machine itself. */
export const loopbackNetworks: readonly Network[] = ['127.0.0.0/8', '::1/128'].flatMap(
  (text) => parseNetwork(text) ?? [],
)

/** A public address that is a service of the cloud's host (Azure). */
const hostServices = new Set(['168.63.129.16'])

/** Global unicast addresses of IPv6 (RFC 4291 §2.4). */
const globalUnicast = ipaddr.IPv6.parseCIDR('2000::/3')

/** True for an address in one of these networks. An IPv4 address in IPv6 form counts as itself. */
export function isWithin(address: string, networks: readonly Network[]): boolean {
  if (!ipaddr.isValid(address)) return false
  const parsed = ipaddr.process(address)
  return networks.some(
    ({ range: [network, bits] }) => network.kind() === parsed.kind() && parsed.match([network, bits]),
  )
}

/** True for a public address. */
export function isPublic(address: string): boolean {
  if (!ipaddr.isValid(address)) return false
  const parsed = ipaddr.process(address)
  if (parsed.range() !== 'unicast' || hostServices.has(parsed.toString())) return false
  return parsed.kind() === 'ipv4' || parsed.match(globalUnicast)
}

/** What a URL may lead to. */
export interface ReachRule {
  /** Networks that are allowed although they are not public. */
  readonly allowed: readonly Network[]
}

/**
 * True when a request by this protocol may go to this address. Without TLS, only the networks that were allowed by name
 * are reached.
 */
export const mayReach = (address: string, protocol: string, { allowed }: ReachRule): boolean =>
  isWithin(address, allowed) || (protocol === 'https:' && isPublic(address))

/** The address in the host of a URL; undefined for a name. */
export function addressInHost(hostname: string): string | undefined {
  const bare = hostname.startsWith('[') ? hostname.slice(1, -1) : hostname
  return ipaddr.isValid(bare) ? bare : undefined
}
