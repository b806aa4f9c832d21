/**
 * Distinguishes a frozen server from a slow one. If callers wait and no answer arrives, not even to another caller, it
 * sends a light probe. If the probe is not answered either, the server is frozen. Silence is counted in timer ticks and
 * not read from a clock: a process that was itself paused must not blame the server.
 */
export interface LivenessOptions {
  /** True while a caller waits for an answer. */
  readonly isAwaited: () => boolean
  /** Sends a request that a busy server still answers at once. Resolves when it has answered. */
  readonly probe: () => Promise<unknown>
  /** Called when no answer has arrived for `frozenAfterMs`; once, until `watch` is called again. */
  readonly onFrozen: () => void
  /** Called when no caller waits any more. */
  readonly onRest?: () => void
}

const tickMs = 100
const probeAfterTicks = 3
const frozenAfterTicks = 10

/** A server that owes an answer is frozen after this time without any answer, in milliseconds. */
export const frozenAfterMs = tickMs * frozenAfterTicks

/** Watches one server while callers wait for it. */
export class Liveness {
  readonly #options: LivenessOptions
  #timer: NodeJS.Timeout | undefined
  #wasAnswered = false
  #silentTicks = 0

  constructor(options: LivenessOptions) {
    this.#options = options
  }

  /** Starts to watch, since a caller waits. Cheap. */
  watch(): void {
    if (this.#timer !== undefined) return
    this.#silentTicks = 0
    this.#timer = setInterval(() => this.#tick(), tickMs)
    this.#timer.unref()
  }

  /** Notes that the server has answered a caller. */
  noteAnswer(): void {
    this.#wasAnswered = true
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
    this.#silentTicks = this.#wasAnswered ? 0 : this.#silentTicks + 1
    this.#wasAnswered = false
    if (this.#silentTicks === probeAfterTicks) this.#probe()
    if (this.#silentTicks < frozenAfterTicks) return
    this.stop()
    this.#options.onFrozen()
  }

  /** A failed probe counts as no answer. Waiting callers get their own errors. */
  #probe(): void {
    this.#options.probe().then(
      () => this.noteAnswer(),
      () => undefined,
    )
  }
}
