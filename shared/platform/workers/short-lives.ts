/** Workers that die at their start or soon after: pauses before their successors grow, so that none burns the CPU. */
import type { Clock } from '../clock.ts'

/** A worker that served for this long in milliseconds has started well. */
const steadyAfterMs = 10_000
const firstPauseMs = 100
const longestPauseMs = 10_000

/** The short lives of a machine's workers in a row. */
export class ShortLives {
  readonly #clock: Clock
  #count = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /**
   * Counts a worker that died, and was ready since `readyAt` of the clock: now, if it never was. Returns the pause
   * before its successor in milliseconds: none after a long life or the first short one, then 100, doubled with each
   * further one.
   */
  pauseAfter(readyAt: number): number {
    if (this.#clock.monotonic() - readyAt >= steadyAfterMs) {
      this.#count = 0
      return 0
    }
    this.#count += 1
    return this.#count === 1 ? 0 : Math.min(longestPauseMs, firstPauseMs * 2 ** (this.#count - 2))
  }
}
