import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  decodeKeySignedPayload,
  encodeKeySignedPayload,
  type KeySignedClaims,
  maxKeySignedTokenTtlSeconds,
} from '../../../../shared/protocol/key-signed-token/key-signed-payload.ts'
import { bodyOf, withDigest } from '../../../support/clients/key-signed-tokens.ts'

const octets = (length: number) =>
  fc.uint8Array({ minLength: length, maxLength: length }).map((array) => Buffer.from(array))

const name = fc
  .string({ unit: fc.constantFrom(...'abzAZ09._@-'), minLength: 1, maxLength: 64 })
  .filter((text) => text.toLowerCase() !== 'anonymous' && text !== '.' && text !== '..')
const ipv4 = fc.ipV4()
const ipv6 = octets(16)
  .filter((address) => !address.subarray(0, 12).equals(Buffer.from('00000000000000000000ffff', 'hex')))
  .map((address) => decodedAddress(address))
const passwordHash = fc.integer({ min: 1, max: 8 }).chain((lanes) =>
  fc.record({
    lanes: fc.constant(lanes),
    memoryKib: fc.integer({ min: 8 * lanes, max: 262_144 }),
    passes: fc.integer({ min: 1, max: 16 }),
    salt: octets(16),
    digest: octets(32),
  }),
)
const claims: fc.Arbitrary<KeySignedClaims> = fc
  .record({
    iat: fc.integer({ min: 0, max: 2 ** 40 }),
    ttl: fc.integer({ min: 1, max: maxKeySignedTokenTtlSeconds }),
    jti: fc.uuid(),
    gen: fc.integer({ min: 1, max: 2 ** 31 - 1 }),
    sub: fc.option(name),
    address: fc.option(fc.oneof(ipv4, ipv6)),
    passwordHash: fc.option(passwordHash),
    audience: fc.option(octets(16)),
  })
  .map(({ ttl, ...rest }) => ({ ...rest, exp: rest.iat + ttl }))

/** The canonical text of an address, as a payload that holds these octets says it. */
function decodedAddress(address: Buffer): string {
  const head = bodyOf(encodeKeySignedPayload(example)).subarray(0, 38)
  const said = decodeKeySignedPayload(
    withDigest(Buffer.concat([head, Buffer.of(0, address.length), address, Buffer.of(0)])),
  )
  if (typeof said?.address !== 'string') throw new Error('not an address')
  return said.address
}

const example: KeySignedClaims = {
  iat: 1_800_000_000,
  exp: 1_800_001_800,
  jti: '01890a5d-ac96-774b-bcce-b302099a8057',
  gen: 1,
  sub: null,
  address: null,
  passwordHash: null,
  audience: null,
}
const largest: KeySignedClaims = {
  ...example,
  sub: 'x'.repeat(64),
  address: '2001:db8:1111:2222:3333:4444:5555:6666',
  passwordHash: {
    memoryKib: 262_144,
    passes: 16,
    lanes: 8,
    salt: Buffer.alloc(16, 255),
    digest: Buffer.alloc(32, 255),
  },
  audience: Buffer.alloc(16, 255),
}

describe('the payload of a key-signed token', () => {
  it('gives back what it was made of, and nothing else was meant by it', () => {
    fc.assert(
      fc.property(claims, (one) => {
        const payload = encodeKeySignedPayload(one)
        expect(decodeKeySignedPayload(payload)).toEqual(one)
        expect(payload.length).toBeLessThanOrEqual(224)
      }),
    )
  })

  it('says one thing in one way only: two contents are two payloads', () => {
    fc.assert(
      fc.property(claims, claims, (one, other) => {
        const areSame = encodeKeySignedPayload(one).equals(encodeKeySignedPayload(other))
        expect(areSame).toBe(JSON.stringify(one) === JSON.stringify(other))
      }),
    )
  })

  it('fits a key of 2048 bits with everything in it', () => {
    expect(encodeKeySignedPayload(largest).length).toBe(224)
    expect(224).toBeLessThanOrEqual(2048 / 8 - 11)
  })

  it('has without an audience the encoding of before there was one, and with one a field more', () => {
    fc.assert(
      fc.property(claims, octets(16), (one, audience) => {
        const before = bodyOf(encodeKeySignedPayload({ ...one, audience: null }))
        const [name = 0] = before.subarray(38)
        const [address = 0] = before.subarray(39 + name)
        const [hash = 0] = before.subarray(40 + name + address)
        expect(before.length).toBe(41 + name + address + hash)
        const after = bodyOf(encodeKeySignedPayload({ ...one, audience }))
        expect(after.equals(Buffer.concat([before, Buffer.of(16), audience]))).toBe(true)
      }),
    )
  })

  it('is refused with a part of the audience, an empty one, or two', () => {
    const body = bodyOf(encodeKeySignedPayload(largest))
    const before = body.subarray(0, -17)
    const audience = body.subarray(-17)
    expect(decodeKeySignedPayload(withDigest(before))).toEqual({ ...largest, audience: null })
    for (let length = 1; length < 17; length += 1) {
      expect(decodeKeySignedPayload(withDigest(body.subarray(0, -length)))).toBeUndefined()
    }
    const others = [Buffer.of(0), Buffer.of(15, ...audience.subarray(2)), Buffer.concat([audience, audience])]
    others.push(Buffer.concat([audience, Buffer.of(0)]), Buffer.concat([Buffer.of(0), audience]))
    for (const other of others) {
      expect(decodeKeySignedPayload(withDigest(Buffer.concat([before, other])))).toBeUndefined()
    }
  })

  it('is refused with any bit changed, and with any octet too many or too few', () => {
    const payload = encodeKeySignedPayload(largest)
    for (let bit = 0; bit < payload.length * 8; bit += 1) {
      const changed = Buffer.from(payload)
      changed[bit >> 3] = (changed[bit >> 3] ?? 0) ^ (1 << (bit & 7))
      expect(decodeKeySignedPayload(changed)).toBeUndefined()
    }
    for (let length = 0; length < payload.length; length += 1) {
      expect(decodeKeySignedPayload(payload.subarray(0, length))).toBeUndefined()
      expect(decodeKeySignedPayload(payload.subarray(payload.length - length))).toBeUndefined()
    }
    for (const trailing of [0, 1, 255]) {
      expect(decodeKeySignedPayload(Buffer.concat([payload, Buffer.of(trailing)]))).toBeUndefined()
      expect(decodeKeySignedPayload(Buffer.concat([Buffer.of(trailing), payload]))).toBeUndefined()
    }
  })

  it('is read, whatever the digest vouches for, only if it is exactly what would be written', () => {
    const edit = fc.record({
      at: fc.nat({ max: 180 }),
      remove: fc.nat({ max: 4 }),
      insert: fc.uint8Array({ maxLength: 4 }),
    })
    let read = 0
    fc.assert(
      fc.property(claims, fc.array(edit, { minLength: 1, maxLength: 3 }), (one, edits) => {
        let body: Buffer = bodyOf(encodeKeySignedPayload(one))
        for (const { at, remove, insert } of edits) {
          body = Buffer.concat([body.subarray(0, at), insert, body.subarray(at + remove)])
        }
        const payload = withDigest(body)
        const said = decodeKeySignedPayload(payload)
        if (!said) return
        read += 1
        expect(encodeKeySignedPayload(said).equals(payload)).toBe(true)
      }),
      { numRuns: 3000 },
    )
    expect(read).toBeGreaterThan(100)
  })

  it('never throws on any octets', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), (array) => {
        expect(decodeKeySignedPayload(Buffer.from(array))).toBeUndefined()
        decodeKeySignedPayload(withDigest(Buffer.concat([Buffer.from('\u0001kst', 'latin1'), array])))
      }),
      { numRuns: 2000 },
    )
  })

  const hash = largest.passwordHash
  it.each<[string, Partial<KeySignedClaims>]>([
    ['no life at all', { exp: example.iat }],
    ['an expiry before its issue', { exp: example.iat - 1 }],
    ['a life of more than a day', { exp: example.iat + 86_401 }],
    ['generation 0', { gen: 0 }],
    ['a generation that is no integer of the database', { gen: 2 ** 31 }],
    ['an issue time before the epoch', { iat: -1 }],
    ['an empty name', { sub: '' }],
    ['a name that is too long', { sub: 'x'.repeat(65) }],
    ['a name that nobody can have', { sub: 'a b' }],
    ['a name beyond Latin', { sub: 'Ł' }],
    ['the reserved name', { sub: 'anonymous' }],
    ['the reserved name in other letters', { sub: 'Anonymous' }],
    ['a name that no path can carry', { sub: '.' }],
    ['another such name', { sub: '..' }],
    ['an IPv4 address in the form of IPv6', { address: '::ffff:203.0.113.7' }],
    ['an address that is not spelt canonically', { address: '2001:0db8::1' }],
    ['an id that is no UUID', { jti: '01890a5d' }],
    ['too little memory', { passwordHash: hash && { ...hash, memoryKib: 63 } }],
    ['too much memory', { passwordHash: hash && { ...hash, memoryKib: 262_145 } }],
    ['no pass', { passwordHash: hash && { ...hash, passes: 0 } }],
    ['too many lanes', { passwordHash: hash && { ...hash, lanes: 9 } }],
    ['a short salt', { passwordHash: hash && { ...hash, salt: Buffer.alloc(15) } }],
    ['a long digest', { passwordHash: hash && { ...hash, digest: Buffer.alloc(33) } }],
    ['an empty audience', { audience: Buffer.alloc(0) }],
    ['a short audience', { audience: Buffer.alloc(15) }],
    ['a long audience', { audience: Buffer.alloc(17) }],
  ])('cannot say %s', (_what, change) => {
    expect(() => encodeKeySignedPayload({ ...largest, ...change })).toThrow(RangeError)
  })
})
