/**
 * Tells a server that is frozen from one that is only slow with what it was asked. While somebody waits for an answer and none comes, not even
 * another caller's, it is asked something light; when that has no answer either, it is frozen. Silence is counted in ticks and not read from
 * a clock: a process that was itself held up must not blame the server.
 */
export interface LivenessOptions {
  /** Whether somebody waits for an answer now. */
  readonly isAwaited: () => boolean
  /** Asks something that a server answers at once, however busy it is; resolves when it has answered. */
  readonly probe: () => Promise<unknown>
  /** Nothing was heard for `frozenAfterMs`: called once, until `watch` is called again. */
  readonly onFrozen: () => void
  /** Nobody waits any more. */
  readonly onRest?: () => void
}

const tickMs = 100
const probeAfterTicks = 3
const frozenAfterTicks = 10

/** A server that owes an answer and has said nothing for so long is frozen, in milliseconds. */
export const frozenAfterMs = tickMs * frozenAfterTicks

export class Liveness {
  readonly #options: LivenessOptions
  #timer: NodeJS.Timeout | undefined
  #wasHeard = false
  #silentTicks = 0

  constructor(options: LivenessOptions) {
    this.#options = options
  }

  /** Somebody waits from now on. Cheap. */
  watch(): void {
    if (this.#timer !== undefined) return
    this.#silentTicks = 0
    this.#timer = setInterval(() => this.#tick(), tickMs)
    this.#timer.unref()
  }

  /** The server has answered somebody. */
  heard(): void {
    this.#wasHeard = true
  }

  stop(): void {
    clearInterval(this.#timer)
    this.#timer = undefined
  }

  #tick(): void {
    if (!this.#options.isAwaited()) {
      this.stop()
      this.#options.onRest?.()
      return
    }
    this.#silentTicks = this.#wasHeard ? 0 : this.#silentTicks + 1
    this.#wasHeard = false
    if (this.#silentTicks === probeAfterTicks) this.#probe()
    if (this.#silentTicks < frozenAfterTicks) return
    this.stop()
    this.#options.onFrozen()
  }

  /** One that fails says nothing: whoever waits hears of that by himself. */
  #probe(): void {
    this.#options.probe().then(
      () => this.heard(),
      () => undefined,
    )
  }
}
