import { describe, expect, it } from 'vitest'
import { createIdSource } from '../../../shared/platform/ids.ts'

const clock = { now: () => 1_700_000_000_000, monotonic: () => 0 }

describe('identifiers', () => {
  it('are UUIDs of version 7 with the time of the clock, and never the same', () => {
    const ids = createIdSource(clock)
    const made = Array.from({ length: 2_000 }, () => ids.uuid())
    expect(new Set(made.map((id) => id.slice(14))).size).toBe(made.length)
    for (const id of made) expect(id).toMatch(/^018bcfe5-6800-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
  })

  it('are not shared by two sources', () => {
    const [one, other] = [createIdSource(clock), createIdSource(clock)]
    expect(one.uuid()).not.toBe(other.uuid())
  })
})
