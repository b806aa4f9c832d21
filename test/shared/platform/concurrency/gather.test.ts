import { setTimeout as pause } from 'node:timers/promises'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { gather } from '../../../../shared/platform/concurrency/gather.ts'

interface Item {
  readonly key: string
  readonly lock: number
}

const numbers = { maxItems: 3, maxInFlight: 3, isItemError: () => false }

describe('gathered calls', () => {
  it('are each answered once; batches under way share no lock, and a batch no key', async () => {
    const item = fc.record({
      key: fc.constantFrom('a', 'b', 'c', 'd'),
      lock: fc.nat(3),
      ms: fc.nat(2),
      late: fc.nat(3),
    })
    const runs = fc.asyncProperty(fc.array(item, { minLength: 1, maxLength: 30, size: 'max' }), async (items) => {
      const underWay = new Set<number>()
      const seen: Item[] = []
      const one = gather<(typeof items)[number], Item>({
        ...numbers,
        key: ({ key }) => key,
        lock: ({ lock }) => lock,
        run: async (batch) => {
          const locks = new Set(batch.map(({ lock }) => lock))
          expect(new Set(batch.map(({ key }) => key)).size).toBe(batch.length)
          for (const lock of locks) expect(underWay.has(lock)).toBe(false)
          for (const lock of locks) underWay.add(lock)
          await pause(Math.max(...batch.map(({ ms }) => ms)))
          for (const lock of locks) underWay.delete(lock)
          seen.push(...batch)
          return batch
        },
      })
      const answers = items.map(async (each) => {
        await pause(each.late)
        return one(each)
      })
      expect(await Promise.all(answers)).toEqual(items)
      expect(seen).toHaveLength(items.length)
    })
    await fc.assert(runs, { numRuns: 30 })
  })

  it('wait for the lock of a batch under way, while others go on; an error frees it', async () => {
    const ends: ((error: Error | undefined) => void)[] = []
    const one = gather<Item, Item>({
      ...numbers,
      lock: ({ lock }) => lock,
      run: (batch) =>
        new Promise((resolve, reject) => {
          ends.push((error) => (error ? reject(error) : resolve(batch)))
        }),
    })
    const first = one({ key: 'a', lock: 1 })
    await expect.poll(() => ends.length).toBe(1)
    const [same, other] = [one({ key: 'b', lock: 1 }), one({ key: 'c', lock: 2 })]
    await expect.poll(() => ends.length).toBe(2)
    ends[1]?.(undefined)
    expect(await other).toMatchObject({ key: 'c' })
    expect(ends).toHaveLength(2)
    ends[0]?.(new Error('broken'))
    await expect(first).rejects.toThrow('broken')
    await expect.poll(() => ends.length).toBe(3)
    ends[2]?.(undefined)
    expect(await same).toMatchObject({ key: 'b' })
  })
})
