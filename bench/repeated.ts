import { systemClock as clock } from '../shared/platform/clock.ts'
import type { Subject, Turn } from './compare.ts'

/** The number of operations between two reads of the clock. */
const batch = 500

/** An operation of this process, done again and again. @throws Error when it gives nothing */
export const repeated = (name: string, operation: () => unknown): Subject =>
  inBatches(name, () => {
    for (let index = 0; index < batch; index += 1) if (!operation()) throw new Error(`${name} failed`)
  })

/** The same for an operation that has to be waited for, with so many under way at once. */
export const repeatedAsync = (name: string, operation: () => Promise<unknown>, atOnce = 1): Subject =>
  inBatches(name, async () => {
    let begun = 0
    const work = async () => {
      while (begun < batch) {
        begun += 1
        if (!(await operation())) throw new Error(`${name} failed`)
      }
    }
    await Promise.all(Array.from({ length: atOnce }, work))
  })

const inBatches = (name: string, doBatch: () => Promise<void> | void): Subject => ({
  name,
  turn: async (seconds): Promise<Turn> => {
    const before = process.cpuUsage()
    const started = clock.monotonic()
    let done = 0
    let elapsedMs = 0
    while (elapsedMs < seconds * 1000) {
      await doBatch()
      done += batch
      elapsedMs = clock.monotonic() - started
    }
    const { user, system } = process.cpuUsage(before)
    return { perSecond: (done * 1000) / elapsedMs, cpuMicroseconds: (user + system) / done }
  },
})

/** One after the other, over and over. */
export function inTurn<Item>(items: readonly Item[]): () => Item {
  let next = 0
  return () => {
    const item = items[next++ % items.length]
    if (item === undefined) throw new Error('there is nothing')
    return item
  }
}
