/**
 * Tracks whether a dependency can be reached. During an outage, calls fail at once and a single probe checks for its
 * return: callers do not wait for time-outs, and the dependency does not get all waiting requests at once when it is
 * back.
 */
import { Unavailable } from '../problems/errors.ts'

interface AvailabilityOptions {
  /** Resolves when the dependency answers. */
  readonly probe: () => Promise<void>
  /** Pause between two probes; milliseconds. */
  readonly probeIntervalMs: number
}

/** The state of one dependency. */
export class Availability {
  readonly #options: AvailabilityOptions
  #reason: Unavailable | undefined
  #stopped = false

  constructor(options: AvailabilityOptions) {
    this.#options = options
  }

  /** @throws Unavailable while the dependency cannot be reached */
  check(): void {
    if (this.#reason !== undefined) throw this.#reason
  }

  /** Starts an outage. It ends when a probe is answered. */
  suspend(reason: Unavailable): void {
    if (this.#reason !== undefined) return
    this.#reason = reason
    void this.#probeUntilAnswered()
  }

  /** Refuses all callers from now on. */
  stop(reason: Unavailable): void {
    this.#stopped = true
    this.#reason = reason
  }

  async #probeUntilAnswered(): Promise<void> {
    while (!this.#stopped) {
      const answered = await this.#options.probe().then(
        () => true,
        (error: unknown) => {
          // The reason of now says more than the one that began the outage.
          if (error instanceof Unavailable && !this.#stopped) this.#reason = error
          return false
        },
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
