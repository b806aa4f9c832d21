import ipaddr from 'ipaddr.js'

/** An address of a network, and how many of its bits all addresses of the network share. */
export type IpRange = readonly [ipaddr.IPv4 | ipaddr.IPv6, number]

/**
 * Reads `address/bits` or a single address; undefined for anything else. IPv4 is in its four decimal parts: the
 * library would also read `10/8` as 0.0.0.10/8, and `010.0.0.1` as 8.0.0.1.
 */
export function parseIpRange(text: string): IpRange | undefined {
  const [, address = '', bits] = /^([^/]+)(?:\/(\d{1,3}))?$/.exec(text) ?? []
  if (!ipaddr.IPv4.isValidFourPartDecimal(address) && !ipaddr.IPv6.isValid(address)) return undefined
  const parsed = ipaddr.parse(address)
  const longest = parsed.kind() === 'ipv4' ? 32 : 128
  const length = Number(bits ?? longest)
  return length <= longest ? [parsed, length] : undefined
}
