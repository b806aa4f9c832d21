import { describe, expect, it, vi } from 'vitest'
import { createMemo } from '../../../../shared/platform/cache/memo.ts'
import { deferred } from '../../../support/deferred.ts'

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

  it('does not remember a load that a clear has overtaken, nor lets anybody join it', async () => {
    const memo = createMemo<string>({ ...bounds, unknownForMs: 1_000 })
    const [before, unknown] = [deferred<string>(), deferred<undefined>()]
    const overtaken = [memo.load('a', () => before.promise), memo.load('b', () => unknown.promise)]
    memo.clear()
    expect(await memo.load('a', async () => 'after')).toBe('after')
    before.resolve('before')
    unknown.resolve(undefined)
    expect(await Promise.all(overtaken)).toEqual(['before', undefined])
    expect([memo.peek('a'), memo.isUnknown('b')]).toEqual(['after', false])
  })

  it('keeps the value after a failed load, and loads again', async () => {
    const memo = createMemo<string>({ ...bounds, unknownForMs: 1_000 })
    await memo.load('a', async () => 'value')
    const failed = async () => {
      throw new Error('failed')
    }
    for (const key of ['a', 'b']) await expect(memo.load(key, failed)).rejects.toThrow('failed')
    expect([memo.peek('a'), memo.isUnknown('b')]).toEqual(['value', false])
    expect(await memo.load('b', async () => 'right')).toBe('right')
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
