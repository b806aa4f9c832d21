import ipaddr from 'ipaddr.js'

/**
 * The part of an address that stands for one client: a whole IPv4 address (also when mapped into IPv6), or the first 64
 * bits of an IPv6 address, since the rest belongs to the client (RFC 6177 §2).
 */
export function clientPrefix(address: string): string {
  if (!ipaddr.isValid(address)) return 'unknown'
  const parsed = ipaddr.process(address)
  return parsed.kind() === 'ipv4' ? `${parsed.toString()}/32` : networkOf(parsed.toString(), 64)
}

/**
 * The part of an address that stands for one site: like `clientPrefix`, but 48 bits of an IPv6 address, which are
 * 65,536 client prefixes.
 */
export function sitePrefix(address: string): string {
  const prefix = clientPrefix(address)
  return prefix.endsWith('/64') ? networkOf(prefix.slice(0, -3), 48) : prefix
}

const networkOf = (address: string, bits: number): string =>
  `${ipaddr.IPv6.networkAddressFromCIDR(`${address}/${bits}`).toString()}/${bits}`
