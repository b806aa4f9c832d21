import type { Clock } from '../../shared/platform/clock.ts'

/**
 * Measures how long committed events are invisible because an older transaction, anywhere in the cluster, is running.
 */
export class EventLag {
  readonly #clock: Clock
  #waiting: { readonly xid: number; readonly since: number } | undefined

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Takes the result of a read of the log. */
  observe({ heldBack, horizon }: { heldBack: number | undefined; horizon: number }): void {
    if (heldBack === undefined) this.#waiting = undefined
    else if (this.#waiting === undefined || this.#waiting.xid < horizon) {
      this.#waiting = { xid: heldBack, since: this.#clock.monotonic() }
    }
  }

  /** The lag in milliseconds; 0 when all events are visible. */
  ms(): number {
    return this.#waiting === undefined ? 0 : this.#clock.monotonic() - this.#waiting.since
  }
}
