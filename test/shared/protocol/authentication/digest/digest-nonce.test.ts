import { describe, expect, it } from 'vitest'
import { createIdSource } from '../../../../../shared/platform/ids.ts'
import {
  createDigestNonces,
  nonceLifeMs,
  nonceMark,
} from '../../../../../shared/protocol/authentication/digest/digest-nonce.ts'

const clockAt = (milliseconds: number) => ({ now: () => milliseconds, monotonic: () => milliseconds })
const history = { present: () => '7711042124562333738.00000001' }
const at = (milliseconds: number, ...secrets: string[]) => {
  const clock = clockAt(milliseconds)
  return createDigestNonces({ secrets, clock, ids: createIdSource(clock), history })
}
const now = 1_750_000_000_000

describe('Digest nonces', () => {
  it('are known to every server with the secret, and say how long they are good', () => {
    const text = at(now, 'secret').issue()
    expect(at(now + 1000, 'secret').read(text)).toEqual({
      text,
      issuedAt: now,
      expiresAt: now + nonceLifeMs,
      mark: nonceMark(history.present()),
    })
    expect(at(now + 10 * nonceLifeMs, 'secret').read(text)?.expiresAt).toBe(now + nonceLifeMs)
    expect(at(now, 'secret').issue()).not.toBe(text)
  })

  it('outlive a rotation of the secret', () => {
    const text = at(now, 'old').issue()
    expect(at(now, 'new', 'old').read(text)).toBeDefined()
    expect(at(now, 'old', 'new').read(at(now, 'new', 'old').issue())).toBeDefined()
    expect(at(now, 'new').read(text)).toBeUndefined()
  })

  it('are none when changed anywhere, or written in another way', () => {
    const nonces = at(now, 'secret')
    const text = nonces.issue()
    const bytes = Buffer.from(text, 'base64url')
    for (let index = 0; index < bytes.length; index += 1) {
      const changed = Buffer.from(bytes)
      changed[index] = (changed[index] ?? 0) ^ 1
      expect(nonces.read(changed.toString('base64url'))).toBeUndefined()
    }
    const others = [bytes.toString('base64'), `${text}=`, ` ${text}`, text.slice(0, -1), `${text}A`, '', 'ü']
    for (const other of others.filter((candidate) => candidate !== text)) expect(nonces.read(other)).toBeUndefined()
  })

  it('are none when they come from a clock far ahead', () => {
    expect(at(now, 'secret').read(at(now + 59_000, 'secret').issue())).toBeDefined()
    expect(at(now, 'secret').read(at(now + 61_000, 'secret').issue())).toBeUndefined()
  })
})
