import { describe, expect, it } from 'vitest'
import { laneCount, laneKey, laneOf } from '../../../../shared/platform/cache/lanes.ts'
import { slotCount, slotOf } from '../../../../shared/platform/redis/redis-slots.ts'

/** How many of `values` fall on each of `places`; the same number as far as possible. */
function spreadOf(values: readonly number[], places: number): number[] {
  const counts = Array.from({ length: places }, () => 0)
  for (const value of values) counts[value] = (counts[value] ?? 0) + 1
  return counts
}

describe('lanes', () => {
  it('are the same for a text for ever: another lane would hide what is stored', () => {
    const known = ['', 'alice', 'bob', 'admin', 'user-1', 'someone.else@example.org', 'ünïcødé']
    expect(known.map(laneOf)).toMatchInlineSnapshot(`
      [
        25,
        5,
        18,
        28,
        39,
        7,
        40,
      ]
    `)
  })

  it('take about the same number of names each', () => {
    const names = Array.from({ length: 64_000 }, (_, index) => `user-${index}`)
    for (const count of spreadOf(names.map(laneOf), laneCount)) {
      expect(count).toBeGreaterThan(850)
      expect(count).toBeLessThan(1_150)
    }
  })

  it.each([2, 3, 4, 5, 6, 8])('spread over %d nodes with equal shares of the slots', (nodes) => {
    const slots = Array.from({ length: laneCount }, (_, lane) => slotOf(laneKey(lane, 'x')))
    const counts = spreadOf(
      slots.map((slot) => Math.floor((slot * nodes) / slotCount)),
      nodes,
    )
    const fair = laneCount / nodes
    for (const count of counts) expect(Math.abs(count - fair)).toBeLessThan(fair / 4 + 1)
  })
})

describe('the slot of a key', () => {
  it('is that of the Redis Cluster specification', () => {
    expect(slotOf('123456789')).toBe(0x31c3 % slotCount)
    expect(slotOf('{user1000}.following')).toBe(slotOf('user1000'))
    expect(slotOf('foo{bar}{zap}')).toBe(slotOf('bar'))
    expect(slotOf('foo{}{bar}')).not.toBe(slotOf('bar'))
    expect(slotOf('{keyhold}:x')).toBe(6392)
  })
})
