import type { Clock } from '../../shared/platform/clock.ts'

/** For how long events have been there that do not show, because an older transaction, anywhere in the cluster, has not ended. */
export class EventLag {
  readonly #clock: Clock
  #waiting: { readonly xid: number; readonly since: number } | undefined

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** What a look into the log found. */
  observe({ heldBack, horizon }: { heldBack: number | undefined; horizon: number }): void {
    if (heldBack === undefined) this.#waiting = undefined
    else if (this.#waiting === undefined || this.#waiting.xid < horizon) {
      this.#waiting = { xid: heldBack, since: this.#clock.monotonic() }
    }
  }

  /** In milliseconds; 0 when everything shows. */
  ms(): number {
    return this.#waiting === undefined ? 0 : this.#clock.monotonic() - this.#waiting.since
  }
}
