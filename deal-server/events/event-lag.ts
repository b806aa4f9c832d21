import type { Clock } from '../../shared/platform/clock.ts'
import type { LogState } from './event-log.ts'

/** Measures how long the log has not grown although events were committed. */
export class EventLag {
  readonly #clock: Clock
  #waiting: { readonly position: number; readonly since: number } | undefined

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Takes the result of a read of the log. */
  observe({ isIncomplete, lastPosition: position }: LogState): void {
    if (!isIncomplete) this.#waiting = undefined
    else if (this.#waiting?.position !== position) this.#waiting = { position, since: this.#clock.monotonic() }
  }

  /** The lag in milliseconds; 0 when all events are visible. */
  ms(): number {
    return this.#waiting === undefined ? 0 : this.#clock.monotonic() - this.#waiting.since
  }
}
