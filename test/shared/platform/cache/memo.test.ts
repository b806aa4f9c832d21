import { describe, expect, it, vi } from 'vitest'
import { createMemo } from '../../../../shared/platform/cache/memo.ts'

const bounds = { maxEntries: 10, maxBytes: 10_000 }

describe('a memo', () => {
  it('computes once, and again what was undefined or failed', () => {
    const memo = createMemo<string>(bounds)
    const compute = vi.fn((key: string) => (key === 'none' ? undefined : `value of ${key}`))
    for (const key of ['a', 'a', 'none', 'none', 'b']) memo.get(key, compute)
    expect(compute.mock.calls).toEqual([['a'], ['none'], ['none'], ['b']])
    expect([memo.peek('a'), memo.peek('none')]).toEqual(['value of a', undefined])
    const fail = () => {
      throw new Error('failed')
    }
    expect(() => memo.get('c', fail)).toThrow('failed')
    expect(memo.get('c', () => 'right')).toBe('right')
  })

  it('remembers no value that is not good, and forgets one that is good no more', () => {
    let least = 1
    const memo = createMemo<number>({ ...bounds, isGood: (value) => value >= least })
    expect(memo.get('a', () => 0)).toBe(0)
    expect(memo.get('a', () => 1)).toBe(1)
    expect(memo.get('a', () => 9)).toBe(1)
    least = 2
    expect(memo.peek('a')).toBeUndefined()
    expect(memo.get('a', () => 0)).toBe(0)
    least = 0
    expect(memo.peek('a')).toBeUndefined()
  })

  it('replaces and forgets exactly one value', async () => {
    const memo = createMemo<{ readonly version: number }>(bounds)
    const [first, second, third] = [{ version: 1 }, { version: 2 }, { version: 3 }]
    memo.get('a', () => first)
    memo.replace('a', second, third)
    memo.replace('b', first, third)
    expect([memo.peek('a'), memo.peek('b')]).toEqual([first, undefined])
    memo.replace('a', first, second)
    memo.replace('a', first, undefined)
    expect(memo.peek('a')).toBe(second)
    memo.replace('a', second, undefined)
    expect(memo.peek('a')).toBeUndefined()
  })

  it('keeps unknown keys apart, so that they displace no value', async () => {
    const memo = createMemo<string>({ ...bounds, unknownForMs: 1_000 })
    await memo.load('a', async () => 'value')
    for (let count = 0; count < 100; count += 1) await memo.load(`unknown ${count}`, async () => undefined)
    expect([memo.peek('a'), memo.isUnknown('unknown 0')]).toEqual(['value', true])
  })
})
