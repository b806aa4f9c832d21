import type { Clock } from '../../../shared/platform/clock.ts'

/** A clock that stands still until it is moved. */
export interface TestClock extends Clock {
  advance(milliseconds: number): void
}

/** Begins at a whole second, so that durations in seconds are exact. */
export function createTestClock(startsAt = Date.UTC(2026, 0, 1)): TestClock {
  let elapsed = 0
  return {
    now: () => startsAt + elapsed,
    monotonic: () => elapsed,
    advance: (milliseconds) => {
      elapsed += milliseconds
    },
  }
}
