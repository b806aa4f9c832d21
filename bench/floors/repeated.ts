import { systemClock as clock } from '../../shared/platform/clock.ts'
import type { Subject, Turn } from '../runner/compare.ts'

/** The number of operations between two reads of the clock, where they are short. */
const many = 500

/** An operation of this process, done again and again. @throws Error when it gives nothing */
export const repeated = (name: string, operation: () => unknown): Subject =>
  inBatches(name, many, () => {
    for (let index = 0; index < many; index += 1) if (!operation()) throw new Error(`${name} failed`)
  })

/** The same for an operation that is awaited: `atOnce` at the same time, `batch` between two reads of the clock. */
export const repeatedAsync = (
  name: string,
  operation: () => Promise<unknown>,
  { atOnce = 1, batch = many }: { atOnce?: number; batch?: number } = {},
): Subject =>
  inBatches(name, batch, async () => {
    let begun = 0
    const work = async () => {
      while (begun < batch) {
        begun += 1
        if (!(await operation())) throw new Error(`${name} failed`)
      }
    }
    await Promise.all(Array.from({ length: atOnce }, work))
  })

const inBatches = (name: string, batch: number, doBatch: () => Promise<void> | void): Subject => ({
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
    return { perSecond: (done * 1000) / elapsedMs, cpu: { server: (user + system) / done } }
  },
})
