import { describe, expect, it } from 'vitest'
import {
  addressInHost,
  isPublic,
  loopbackNetworks,
  mayReach,
  parseNetwork,
} from '../../../../shared/platform/webhooks/reachable-address.ts'

describe('a public address', () => {
  it.each(['8.8.8.8', '1.1.1.1', '2606:4700::1111', '::ffff:8.8.8.8'])('is %s', (address) => {
    expect(isPublic(address)).toBe(true)
  })

  it.each([
    '0.0.0.0',
    '10.0.0.1',
    '100.64.0.1',
    '127.0.0.1',
    '169.254.169.254',
    '172.16.0.1',
    '192.168.1.1',
    '198.18.0.1',
    '192.0.0.192',
    '192.0.2.1',
    '203.0.113.1',
    '224.0.0.1',
    '240.0.0.1',
    '255.255.255.255',
    '168.63.129.16',
    '::',
    '::1',
    '::7f00:1',
    '::ffff:127.0.0.1',
    '::ffff:10.0.0.1',
    'fe80::1',
    'fe80::1%eth0',
    'fec0::1',
    'fc00::1',
    'fd00:ec2::254',
    'ff02::1',
    '64:ff9b::7f00:1',
    '2002:7f00:1::',
    '2001:db8::1',
    '2001::1',
    'localhost',
    '',
    'x',
  ])('is not %j', (address) => {
    expect(isPublic(address)).toBe(false)
  })
})

describe('what may be reached', () => {
  it('is public by https alone, and allowed networks by both', () => {
    const allowed = ['10.1.0.0/16', '::1'].flatMap((text) => parseNetwork(text) ?? [])
    expect(mayReach('8.8.8.8', 'https:', { allowed })).toBe(true)
    expect(mayReach('8.8.8.8', 'http:', { allowed })).toBe(false)
    for (const protocol of ['http:', 'https:']) {
      expect(['10.1.2.3', '::ffff:10.1.2.3', '::1'].map((one) => mayReach(one, protocol, { allowed }))).toEqual([
        true,
        true,
        true,
      ])
      expect(mayReach('10.2.0.1', protocol, { allowed })).toBe(false)
      expect(mayReach('127.0.0.1', protocol, { allowed })).toBe(false)
    }
    expect(mayReach('127.9.9.9', 'http:', { allowed: loopbackNetworks })).toBe(true)
  })

  it('is read from settings as networks or addresses', () => {
    for (const text of ['10.0.0.0/8', '1.2.3.4', 'fd00::/8', '::1']) expect(parseNetwork(text)?.text).toBe(text)
    for (const text of ['', 'x', '10.0.0.0/33', '10.0.0.0/', '1.2.3', '10/8', '010.0.0.1', '0x7f.1', '::/129']) {
      expect(parseNetwork(text), text).toBeUndefined()
    }
  })

  it('is seen in a URL, however the address is written', () => {
    const hosts = ['http://0x7f.1/', 'http://2130706433/', 'http://[::1]/', 'http://127.0.0.1./']
    expect(hosts.map((url) => addressInHost(new URL(url).hostname))).toEqual([
      '127.0.0.1',
      '127.0.0.1',
      '::1',
      '127.0.0.1',
    ])
    expect(addressInHost('receiver.example')).toBeUndefined()
  })
})
