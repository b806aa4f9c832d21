import ipaddr from 'ipaddr.js'

/** True for a name, or an address in any spelling, that only this machine can reach. IPv6 may be in brackets. */
export function isLoopbackHost(host: string): boolean {
  const bare = host.replace(/^\[(.*)\]$/, '$1')
  return ipaddr.isValid(bare) ? ipaddr.process(bare).range() === 'loopback' : bare.toLowerCase() === 'localhost'
}
