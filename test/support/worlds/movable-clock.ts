import type { Clock } from '../../../shared/platform/clock.ts'

/** A clock that runs with the machine's, and whose date can be moved forward. */
export interface MovableClock extends Clock {
  /** Moves `now` alone: ages and durations within the process go on as they are. */
  advanceSeconds(seconds: number): void
}

/** A clock for servers under test. */
export function createMovableClock(): MovableClock {
  let aheadMs = 0
  return {
    now: () => Date.now() + aheadMs,
    monotonic: () => performance.now(),
    advanceSeconds: (seconds) => {
      aheadMs += seconds * 1000
    },
  }
}
