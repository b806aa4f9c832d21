import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type OrderedRun, runInOrder } from '../../../../shared/platform/concurrency/in-order.ts'
import { campaign } from '../../../support/campaign.ts'

const never = new AbortController().signal
const run = <Item, Result>(
  items: Iterable<Item>,
  options: Pick<OrderedRun<Item, Result>, 'prepare'> & Partial<OrderedRun<Item, Result>>,
) => runInOrder(items, { maxAhead: 4, take: async () => undefined, stopped: never, ...options })

/** A promise, and the function that resolves it. */
function gate() {
  let open: () => void = () => undefined
  const opened = new Promise<void>((resolve) => {
    open = resolve
  })
  return { opened, open }
}

describe('work in order', () => {
  it('gives results in the order of items, and works on one key in order', async () => {
    const item = fc.record({ key: fc.constantFrom(undefined, 'a', 'b'), turns: fc.nat(5) })
    await fc.assert(
      fc.asyncProperty(fc.array(item, { maxLength: 40 }), async (items) => {
        const begun: number[] = []
        const taken: number[] = []
        const running = new Set<string>()
        let [ahead, most] = [0, 0]
        await run(items.entries(), {
          prepare: ([index, { key, turns }]) => {
            ahead += 1
            most = Math.max(most, ahead)
            return {
              key,
              run: async () => {
                begun.push(index)
                if (key !== undefined && running.has(key)) throw new Error('two works of one key at once')
                if (key !== undefined) running.add(key)
                for (let turn = 0; turn < turns; turn += 1) await null
                if (key !== undefined) running.delete(key)
                return index
              },
            }
          },
          take: async (index) => {
            ahead -= 1
            taken.push(index)
          },
        })
        expect(taken).toEqual(items.map((_, index) => index))
        expect(most).toBeLessThanOrEqual(4)
        const ofKey = (key: string) => begun.filter((index) => items[index]?.key === key)
        for (const key of ['a', 'b']) expect(ofKey(key)).toEqual([...ofKey(key)].sort((a, b) => a - b))
      }),
      { numRuns: campaign({ short: 100, long: 5000 }) },
    )
  })

  it('begins nothing more while nobody takes the results', async () => {
    let begun = 0
    const { opened, open } = gate()
    const done = run(Array(50).keys(), {
      prepare: () => ({ key: undefined, run: async () => (begun += 1) }),
      take: () => opened,
    })
    for (let turn = 0; turn < 50; turn += 1) await null
    expect(begun).toBe(4)
    open()
    await done
    expect(begun).toBe(50)
  })

  it('begins and takes nothing after the stop, and waits for what runs', async () => {
    const stop = new AbortController()
    const { opened, open } = gate()
    const begun: number[] = []
    const taken: number[] = []
    let hasEnded = false
    const done = run(Array(50).keys(), {
      // Work of one key: only the first has begun.
      prepare: (index) => ({
        key: 'a',
        run: async () => {
          begun.push(index)
          await opened
          return index
        },
      }),
      take: async (index) => void taken.push(index),
      stopped: stop.signal,
    }).then(() => {
      hasEnded = true
    })
    for (let turn = 0; turn < 50; turn += 1) await null
    stop.abort()
    for (let turn = 0; turn < 50; turn += 1) await null
    expect({ begun, hasEnded }).toEqual({ begun: [0], hasEnded: false })
    open()
    await done
    expect({ begun, taken }).toEqual({ begun: [0], taken: [] })
  })
})
