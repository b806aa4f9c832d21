import type { IncomingMessage } from 'node:http'
import { describe, expect, it } from 'vitest'
import { canonicalAddress, parseTrustedProxies, peerOf } from '../../../../shared/platform/http/transport.ts'

/** Who came, through a proxy on loopback that `trust` describes. */
function peer(trust: string, headers: Record<string, string>) {
  const trustProxy = parseTrustedProxies(trust)
  if (!trustProxy) throw new TypeError(`no TRUST_PROXY: ${trust}`)
  const incoming = { headers, socket: { remoteAddress: '127.0.0.1' } } as unknown as IncomingMessage
  const { address, isHttps, mayCarryCredentials, isContradicted } = peerOf(incoming, {
    trustProxy,
    allowInsecureHttp: false,
  })
  expect(mayCarryCredentials).toBe(isHttps)
  if (isContradicted) return 'nobody knows'
  return `${isHttps ? 'https' : 'http'} ${address}`
}

const viaX = (addresses: string, schemes = 'https') => ({
  'x-forwarded-for': addresses,
  'x-forwarded-proto': schemes,
})

/** Whether a proxy that `trust` names has named its client, on a connection from loopback. */
function isNamed(trust: string, headers: Record<string, string>) {
  const trustProxy = parseTrustedProxies(trust) ?? { hops: 0 }
  const incoming = { headers, socket: { remoteAddress: '127.0.0.1' } } as unknown as IncomingMessage
  return peerOf(incoming, { trustProxy, allowInsecureHttp: true }).isNamedByProxy
}

describe('a proxy', () => {
  it.each<[trust: string, headers: Record<string, string>, isNamed: boolean]>([
    ['127.0.0.1', viaX('203.0.113.7'), true],
    ['127.0.0.0/8,::1', { 'x-real-ip': '203.0.113.7' }, true],
    ['127.0.0.1', viaX('unknown'), false],
    ['127.0.0.1', { 'x-forwarded-proto': 'https' }, false],
    ['127.0.0.1', {}, false],
    ['203.0.113.0/24', viaX('203.0.113.7'), false],
    ['0', viaX('203.0.113.7'), false],
    ['1', viaX('203.0.113.7'), false],
    ['9', viaX('203.0.113.7'), false],
    ['0.0.0.0/0', viaX('203.0.113.7'), false],
    ['127.0.0.1,::/0', viaX('203.0.113.7'), false],
    ['127.0.0.1', { ...viaX('203.0.113.7'), forwarded: 'for=192.0.2.1' }, false],
  ])('is named by TRUST_PROXY=%s and names its client in %j: %s', (trust, headers, expected) => {
    expect(isNamed(trust, headers)).toBe(expected)
  })
})

describe('the client behind proxies', () => {
  it.each<[trust: string, headers: Record<string, string>, told: string]>([
    ['1', viaX('203.0.113.7'), 'https 203.0.113.7'],
    ['1', viaX('198.51.100.1, 203.0.113.7'), 'https 203.0.113.7'],
    ['2', viaX('198.51.100.1, 203.0.113.7'), 'https 198.51.100.1'],
    ['2', viaX('192.0.2.1, 198.51.100.1, 203.0.113.7', 'http, https, http'), 'https 198.51.100.1'],
    ['9', viaX('198.51.100.1, 203.0.113.7'), 'https 198.51.100.1'],
    ['127.0.0.0/8, 203.0.113.0/24', viaX('198.51.100.1, 203.0.113.7'), 'https 198.51.100.1'],
    ['203.0.113.0/24', viaX('198.51.100.1, 203.0.113.7'), 'http 127.0.0.1'],
    ['1', viaX('203.0.113.7', 'http'), 'http 203.0.113.7'],
    ['1', viaX('203.0.113.7', 'HTTPS'), 'https 203.0.113.7'],
    ['1', { 'x-forwarded-for': '203.0.113.7' }, 'http 203.0.113.7'],
    ['1', { 'x-forwarded-proto': 'https' }, 'https 127.0.0.1'],
    ['1', { 'x-real-ip': '203.0.113.7', 'x-forwarded-proto': 'https' }, 'https 203.0.113.7'],
    ['1', { forwarded: 'for=203.0.113.7;proto=https' }, 'https 203.0.113.7'],
    ['1', { forwarded: 'For="[2001:db8::1]:4711"; Proto=https' }, 'https 2001:db8::1'],
    ['1', { forwarded: 'for=198.51.100.1;proto=https, for=203.0.113.7;proto=http' }, 'http 203.0.113.7'],
    ['1', { forwarded: 'for=unknown;proto=https' }, 'https 127.0.0.1'],
  ])('with TRUST_PROXY=%s and %j is %s', (trust, headers, told) => {
    expect(peer(trust, headers)).toBe(told)
  })

  it.each(['203.0.113.7:4711', '::ffff:203.0.113.7', '[::ffff:203.0.113.7]:4711'])(
    'is one and the same as %s',
    (address) => {
      expect(canonicalAddress(address)).toBe('203.0.113.7')
      expect(peer('1', viaX(address))).toBe('https 203.0.113.7')
      expect(peer('1', { forwarded: `for="${address}";proto=https` })).toBe('https 203.0.113.7')
    },
  )

  it.each(['203.0.113.7:', '203.0.113.7:x', '2001:db8::1:x', ''])('is not %j', (address) => {
    expect(peer('1', viaX(address))).toBe('https 127.0.0.1')
  })

  it.each<[what: string, headers: Record<string, string>, told: string]>([
    ['agree', { ...viaX('203.0.113.7'), forwarded: 'for=203.0.113.7;proto=https' }, 'https 203.0.113.7'],
    ['spell it otherwise', { ...viaX('203.0.113.7:1'), forwarded: 'for="[::ffff:203.0.113.7]"' }, 'https 203.0.113.7'],
    ['complement each other', { 'x-forwarded-proto': 'https', forwarded: 'for=203.0.113.7' }, 'https 203.0.113.7'],
    ['name it once more as X-Real-IP', { ...viaX('203.0.113.7'), 'x-real-ip': '203.0.113.7' }, 'https 203.0.113.7'],
    ['disagree on the address', { ...viaX('203.0.113.7'), forwarded: 'for=192.0.2.1;proto=https' }, 'nobody knows'],
    ['disagree on the scheme', { ...viaX('203.0.113.7', 'http'), forwarded: 'proto=https' }, 'nobody knows'],
    ['disagree the other way', { ...viaX('203.0.113.7'), forwarded: 'proto=http' }, 'nobody knows'],
    ['name one and hide it', { ...viaX('203.0.113.7'), forwarded: 'for=unknown' }, 'nobody knows'],
    ['disagree with X-Real-IP', { ...viaX('203.0.113.7'), 'x-real-ip': '192.0.2.1' }, 'nobody knows'],
    ['have X-Real-IP beside Forwarded', { forwarded: 'for=192.0.2.1', 'x-real-ip': '203.0.113.7' }, 'nobody knows'],
    ['have an X-Real-IP that is none', { ...viaX('203.0.113.7'), 'x-real-ip': 'x' }, 'nobody knows'],
  ])('is known as far as all forwarding headers say the same: they %s', (_what, headers, told) => {
    expect(peer('1', headers)).toBe(told)
  })

  it('may be any trusted hop in X-Real-IP: the nearest proxy writes the address that it sees', () => {
    const headers = viaX('192.0.2.1, 198.51.100.1, 203.0.113.7')
    const told = ['192.0.2.1', '198.51.100.1', '203.0.113.7'].map((address) =>
      peer('2', { ...headers, 'x-real-ip': address }),
    )
    expect(told).toEqual(['nobody knows', 'https 198.51.100.1', 'https 198.51.100.1'])
  })

  it('is the peer itself without a trusted proxy, whatever the headers are', () => {
    const contradicting = { ...viaX('203.0.113.7'), forwarded: 'for=192.0.2.1', 'x-real-ip': '198.51.100.1' }
    expect(peer('0', contradicting)).toBe('http 127.0.0.1')
    expect(peer('203.0.113.0/24', contradicting)).toBe('http 127.0.0.1')
  })
})
