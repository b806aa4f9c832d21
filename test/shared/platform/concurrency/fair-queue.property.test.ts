import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { FairQueue } from '../../../../shared/platform/concurrency/fair-queue.ts'

type Step = { readonly add: string } | 'take'

const steps = fc.array(
  fc.oneof(
    { weight: 3, arbitrary: fc.record({ add: fc.constantFrom('a', 'b', 'c', 'd') }) },
    { weight: 1, arbitrary: fc.constant<Step>('take') },
  ),
  { maxLength: 120 },
)

interface Item {
  readonly group: string
  readonly nth: number
}

/** Runs the steps; the outcome of each, and the items that wait after it. */
function run(capacity: number, given: readonly Step[]) {
  const queue = new FairQueue<Item>(capacity)
  const waiting = new Set<Item>()
  return given.map((step, nth) => {
    const before = [...waiting]
    const added = step === 'take' ? undefined : { group: step.add, nth }
    if (added) waiting.add(added)
    const left = added ? queue.add(added.group, added) : queue.take()
    if (left) waiting.delete(left)
    return { before, added, left, after: [...waiting], size: queue.size }
  })
}

const sizeOf = (items: readonly Item[], group: string) => items.filter((item) => item.group === group).length

describe('a fair queue', () => {
  it('loses no item, and never has more than it may', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 8 }), steps, (capacity, given) => {
        for (const { before, added, left, after, size } of run(capacity, given)) {
          expect(size).toBe(after.length)
          expect(size).toBeLessThanOrEqual(capacity)
          if (!added && before.length > 0) expect(before).toContain(left)
        }
      }),
    )
  })

  it('refuses only when it is full, and then the newest item of a group that no other is larger than', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 8 }), steps, (capacity, given) => {
        for (const { before, added, left } of run(capacity, given)) {
          if (!added) continue
          expect(left !== undefined).toBe(before.length === capacity)
          if (!left) continue
          const all = [...before, added]
          const sizes = all.map(({ group }) => sizeOf(all, group))
          expect(sizeOf(all, left.group)).toBe(Math.max(...sizes))
          expect(left).toBe(all.filter(({ group }) => group === left.group).at(-1))
        }
      }),
    )
  })

  it('lets no group take two items while another one waits for its turn', () => {
    fc.assert(
      fc.property(steps, (given) => {
        const taken: { item: Item; others: readonly Item[] }[] = []
        for (const { added, left, before } of run(1_000, given))
          if (!added && left) taken.push({ item: left, others: before })
        for (const [index, { item }] of taken.entries()) {
          const last = taken.slice(0, index).findLastIndex((one) => one.item.group === item.group)
          if (last < 0) continue
          const between = taken.slice(last + 1, index).map((one) => one.item.group)
          const waited = taken[last]?.others.filter(({ group }) => group !== item.group) ?? []
          for (const { group } of waited) expect(between).toContain(group)
        }
      }),
    )
  })

  it('gives the items of one group in the order of their arrival', () => {
    fc.assert(
      fc.property(steps, (given) => {
        const lastOf = new Map<string, number>()
        for (const { added, left } of run(1_000, given)) {
          if (added || !left) continue
          expect(left.nth).toBeGreaterThan(lastOf.get(left.group) ?? -1)
          lastOf.set(left.group, left.nth)
        }
      }),
    )
  })
})
