import { describe, expect, it } from 'vitest'
import { ShortLives } from '../../../../shared/platform/workers/short-lives.ts'

describe('a worker that dies', () => {
  it('is replaced at once, and after growing pauses when its successors die soon', () => {
    let now = 0
    const lives = new ShortLives({ now: () => now, monotonic: () => now })
    const diesAfter = (ms: number) => {
      const readyAt = now
      now += ms
      return lives.pauseAfter(readyAt)
    }
    expect([1, 1, 1, 1].map(diesAfter)).toEqual([0, 100, 200, 400])
    expect(diesAfter(10_000)).toBe(0)
    expect([9_999, 1].map(diesAfter)).toEqual([0, 100])
    expect(Array.from({ length: 20 }, () => diesAfter(1)).at(-1)).toBe(10_000)
  })
})
