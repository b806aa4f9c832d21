import { Secret } from 'otpauth'
import { describe, expect, it } from 'vitest'
import { newTotpSecret, totpStep, totpUri } from '../../../auth-server/second-factors/totp.ts'

/** The SHA-1 vectors of RFC 6238 appendix B, with the last six of their eight digits. */
const vectors = [
  [59, '287082'],
  [1_111_111_109, '081804'],
  [1_111_111_111, '050471'],
  [1_234_567_890, '005924'],
  [2_000_000_000, '279037'],
  [20_000_000_000, '353130'],
] as const

const rfcSecret = Secret.fromUTF8('12345678901234567890').base32

describe('one-time codes', () => {
  it.each(vectors)('are those of RFC 6238 at second %i', (second, code) => {
    expect(totpStep(rfcSecret, code, second * 1000)).toBe(Math.floor(second / 30))
  })

  it('are accepted one step early or late, and no further', () => {
    const [second, code] = [1_111_111_109, '081804']
    const step = Math.floor(second / 30)
    for (const away of [-30, 0, 30]) expect(totpStep(rfcSecret, code, (step * 30 + away) * 1000)).toBe(step)
    for (const away of [-60, 60]) expect(totpStep(rfcSecret, code, (step * 30 + away) * 1000)).toBeUndefined()
  })

  it.each(['', '28708', '2870822', '28708a', '２８７０８２', '-87082', ' 287082'])('are not %j', (code) => {
    expect(totpStep(rfcSecret, code, 59_000)).toBeUndefined()
  })

  it('have secrets of 160 random bits, in a URI that apps read', () => {
    const [one, other] = [newTotpSecret(), newTotpSecret()]
    expect(one).not.toBe(other)
    expect(Secret.fromBase32(one).bytes).toHaveLength(20)
    const uri = new URL(totpUri(one, { issuer: 'Keyhold', username: 'erin@x' }))
    expect([uri.protocol, uri.host]).toEqual(['otpauth:', 'totp'])
    expect(uri.searchParams.get('secret')).toBe(one)
    expect(uri.searchParams.get('issuer')).toBe('Keyhold')
  })
})
