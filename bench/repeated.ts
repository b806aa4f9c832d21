import { systemClock as clock } from '../shared/platform/clock.ts'
import type { Subject, Turn } from './compare.ts'

/** So many operations between two looks at the clock. */
const batch = 500

/** An operation of this process, done again and again. @throws Error when it gives nothing */
export const repeated = (name: string, operation: () => unknown): Subject => ({
  name,
  turn: async (seconds): Promise<Turn> => {
    const before = process.cpuUsage()
    const started = clock.monotonic()
    let done = 0
    let elapsedMs = 0
    while (elapsedMs < seconds * 1000) {
      for (let index = 0; index < batch; index += 1) if (!operation()) throw new Error(`${name} failed`)
      done += batch
      elapsedMs = clock.monotonic() - started
    }
    const { user, system } = process.cpuUsage(before)
    return { perSecond: (done * 1000) / elapsedMs, cpuMicroseconds: (user + system) / done }
  },
})
