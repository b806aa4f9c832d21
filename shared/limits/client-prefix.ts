import ipaddr from 'ipaddr.js'

/**
 * What of a client's address counts as one client: all of an IPv4 address (also when mapped into IPv6), the first 64 bits of an IPv6
 * address, since a client has all the rest for itself (RFC 6177 §2).
 */
export function clientPrefix(address: string): string {
  if (!ipaddr.isValid(address)) return 'unknown'
  const parsed = ipaddr.process(address)
  if (parsed.kind() === 'ipv4') return `${parsed.toString()}/32`
  return `${ipaddr.IPv6.networkAddressFromCIDR(`${parsed.toString()}/64`).toString()}/64`
}
