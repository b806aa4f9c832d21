import { createSecretKey } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { bytesOf, createBoundedCache } from '../../../../shared/platform/cache/bounded-cache.ts'

describe('a table in memory', () => {
  it('never exceeds its limits of entries and bytes', () => {
    const key = fc.string({ maxLength: 4 })
    const value = fc.oneof(fc.string({ maxLength: 300 }), fc.array(fc.string({ maxLength: 60 }), { maxLength: 6 }))
    fc.assert(
      fc.property(fc.array(fc.tuple(key, value), { maxLength: 60 }), (entries) => {
        const table = createBoundedCache<string | string[]>({ maxEntries: 20, maxBytes: 2_000 })
        for (const [name, held] of entries) {
          table.set(name, held)
          expect(table.size).toBeLessThanOrEqual(20)
          expect(table.bytes).toBeLessThanOrEqual(2_000)
          const isTooLarge = bytesOf(name) + bytesOf(held) > 2_000
          expect(table.get(name)).toEqual(isTooLarge ? undefined : held)
        }
      }),
    )
  })

  it('removes the least recently used entry', () => {
    const table = createBoundedCache<string>({ maxEntries: 10, maxBytes: 3 * (bytesOf('a') + bytesOf('value')) })
    for (const name of ['a', 'b', 'c']) table.set(name, 'value')
    table.get('a')
    table.set('d', 'value')
    expect(['a', 'b', 'c', 'd'].filter((name) => table.has(name))).toEqual(['a', 'c', 'd'])
    table.delete('a')
    table.clear()
    expect([table.size, table.bytes]).toEqual([0, 0])
  })

  it('keeps entries for its own time to live, or for that of the entry', () => {
    let now = 1
    const table = createBoundedCache<true>({
      maxEntries: 10,
      maxBytes: 1_000,
      ttlMs: 100,
      clock: { now: () => now, monotonic: () => now },
    })
    table.set('usual', true)
    table.set('longer', true, { ttlMs: 200 })
    now += 101
    expect([table.has('usual'), table.has('longer')]).toEqual([false, true])
    now += 100
    expect(table.get('longer')).toBeUndefined()
  })

  it('counts everything that an entry holds', () => {
    expect(bytesOf('x'.repeat(1000))).toBeGreaterThanOrEqual(2000)
    const text = 'x'.repeat(100)
    for (const value of [[text, text], { a: text, b: { c: text } }, new Map([[text, { a: text }]])]) {
      expect(bytesOf(value)).toBeGreaterThan(2 * bytesOf(text))
    }
    expect(bytesOf(createSecretKey(Buffer.from('secret')))).toBeGreaterThan(1000)
    expect(bytesOf(1) + bytesOf(undefined) + bytesOf(null)).toBeLessThan(100)
  })
})
