import { describe, expect, it } from 'vitest'
import {
  isOver,
  isSessionKey,
  isStepDue,
  sessionKeyHash,
  stepMs,
} from '../../../../../shared/protocol/authentication/session/session-times.ts'

const session = {
  id: 'i',
  username: 'u',
  userId: 'v',
  version: 1,
  generation: 1,
  audience: null,
  lastUsedAt: 1000,
  expiresAt: 9000,
}

describe('the times of a session', () => {
  it.each([
    [1000, false],
    [2999, false],
    [3000, true],
    [100_000, true],
  ])('are at %i, with an idle time of 2000, over: %s', (now, over) => {
    expect(isOver(session, now, 2000)).toBe(over)
  })

  it('end the session however much used', () => {
    const used = { ...session, lastUsedAt: 8999 }
    expect([8999, 9000].map((now) => isOver(used, now, 2000))).toEqual([false, true])
  })

  it.each([
    [1_800_000, 60_000],
    [600_000, 30_000],
    [2_000, 100],
    [31_536_000_000, 60_000],
  ])('move in steps: with an idle time of %i ms every %i ms', (idleTtlMs, step) => {
    expect(stepMs(idleTtlMs)).toBe(step)
    const at = (age: number) => isStepDue(session, session.lastUsedAt + age, idleTtlMs)
    expect([at(step - 1), at(step)]).toEqual([false, true])
  })
})

describe('a session key', () => {
  it('is 43 characters of base64url', () => {
    expect(isSessionKey('-_aZ09'.padEnd(43, 'x'))).toBe(true)
    for (const text of [
      '',
      'a'.repeat(42),
      'a'.repeat(44),
      `${'a'.repeat(42)}=`,
      `${'a'.repeat(42)}\n`,
      'ä'.repeat(43),
    ]) {
      expect(isSessionKey(text), text).toBe(false)
    }
  })

  it('is known by its SHA-256', () => {
    expect(sessionKeyHash('abc')).toBe(
      Buffer.from('ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad', 'hex').toString('base64url'),
    )
  })
})
