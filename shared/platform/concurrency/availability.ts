/**
 * Whether a server that this one depends on can be reached. While it cannot, callers are refused at once and one probe alone knocks, so
 * that an outage costs nobody a time-out and the server is not met by a crowd when it is back.
 */
import type { Unavailable } from '../problems/errors.ts'

export interface AvailabilityOptions {
  /** Resolves when the server answers. */
  readonly probe: () => Promise<void>
  /** Pause between two probes; milliseconds. */
  readonly probeIntervalMs: number
}

export class Availability {
  readonly #options: AvailabilityOptions
  #reason: Unavailable | undefined
  #stopped = false

  constructor(options: AvailabilityOptions) {
    this.#options = options
  }

  /** @throws Unavailable while the server cannot be reached */
  check(): void {
    if (this.#reason !== undefined) throw this.#reason
  }

  /** Refuses callers from now on, until a probe has been answered. */
  suspend(reason: Unavailable): void {
    if (this.#reason !== undefined) return
    this.#reason = reason
    void this.#probeUntilAnswered()
  }

  /** Refuses callers for good. */
  stop(reason: Unavailable): void {
    this.#stopped = true
    this.#reason = reason
  }

  async #probeUntilAnswered(): Promise<void> {
    while (!this.#stopped) {
      const answered = await this.#options.probe().then(
        () => true,
        () => false,
      )
      if (this.#stopped) return
      if (answered) {
        this.#reason = undefined
        return
      }
      await new Promise((resolve) => setTimeout(resolve, this.#options.probeIntervalMs).unref())
    }
  }
}
