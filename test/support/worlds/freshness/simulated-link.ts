import { Unavailable } from '../../../../shared/platform/problems/errors.ts'
import type { VirtualTime } from './virtual-time.ts'

/** What a link leads to, and how. */
export interface LinkOptions {
  readonly time: VirtualTime
  /** What is missing when there is no answer. */
  readonly dependency: string
  /** Callers wait so long for an answer, in milliseconds. */
  readonly deadlineMs: number
  /** The time from one end to the other, in milliseconds, drawn for each message. */
  readonly latencyMs: () => number
}

/**
 * A connection from a client to a server in virtual time: order is kept, until it breaks, and it can be slow in either
 * direction.
 */
export class SimulatedLink {
  readonly #options: LinkOptions
  #connection = 0
  #cutUntil = 0
  #requestsFreeAt = 0
  #answersFreeAt = 0
  /** When a call found no answer last. */
  lastFailureAt = Number.NEGATIVE_INFINITY
  calls = 0
  /** False when the process at the client's end has been killed: nothing is sent any more, and no answer comes. */
  alive = true

  constructor(options: LinkOptions) {
    this.#options = options
  }

  /** Calls that begin in the next so many milliseconds fail; what is under way is not heard of again. */
  cut(milliseconds: number): void {
    this.#cutUntil = Math.max(this.#cutUntil, this.#options.time.monotonic() + milliseconds)
    this.#connection += 1
  }

  /**
   * For so many milliseconds nothing arrives at the server, or no answer at the client; then everything does, in order.
   */
  stall(direction: 'requests' | 'answers', milliseconds: number): void {
    const end = this.#options.time.monotonic() + milliseconds
    if (direction === 'requests') this.#requestsFreeAt = Math.max(this.#requestsFreeAt, end)
    else this.#answersFreeAt = Math.max(this.#answersFreeAt, end)
  }

  heal(): void {
    const now = this.#options.time.monotonic()
    this.#cutUntil = now
    this.#requestsFreeAt = Math.min(this.#requestsFreeAt, now)
    this.#answersFreeAt = Math.min(this.#answersFreeAt, now)
  }

  /**
   * Lets `serve` run at the server. @throws Unavailable when there is no answer in time, and whatever `serve` throws
   */
  call<T>(serve: () => Promise<T> | T): Promise<T> {
    this.calls += 1
    return new Promise<T>((resolve, reject) => {
      const { time, dependency, deadlineMs } = this.#options
      let waiting = this.alive
      const end = (tell: () => void) => {
        if (waiting && this.alive) tell()
        waiting = false
      }
      const fail = () =>
        end(() => {
          this.lastFailureAt = time.monotonic()
          reject(new Unavailable(dependency))
        })
      time.after(deadlineMs, fail)
      if (!this.alive) return
      if (this.isCut) time.after(1, fail)
      else this.#send(serve, { resolve: (answer) => end(() => resolve(answer)), fail })
    })
  }

  /**
   * Lets `serve` run at the server, which sends values until `signal` is aborted. Values arrive in order, and no more
   * of them after the connection is cut. @throws Unavailable when it is cut, and when `serve` throws
   */
  async *stream<T>(serve: (send: (value: T) => void, ended: AbortSignal) => void, signal: AbortSignal) {
    const connection = this.#connection
    const arrived: T[] = []
    let [isBroken, wake]: [boolean, () => void] = [false, () => undefined]
    const end = new AbortController()
    const break_ = () => {
      isBroken = true
      wake()
    }
    signal.addEventListener('abort', break_, { once: true })
    const deliver = (value: T) => {
      if (!this.alive || connection !== this.#connection) return break_()
      arrived.push(value)
      wake()
    }
    await this.call(() => serve((value) => this.#answerLater(() => deliver(value)), end.signal))
    try {
      while (true) {
        for (let value = arrived.shift(); value !== undefined; value = arrived.shift()) yield value
        if (isBroken) throw new Unavailable(this.#options.dependency)
        await new Promise<void>((resolve) => {
          wake = resolve
        })
      }
    } finally {
      end.abort()
    }
  }

  get isCut(): boolean {
    return this.#options.time.monotonic() < this.#cutUntil
  }

  #send<T>(serve: () => Promise<T> | T, { resolve, fail }: { resolve: (answer: T) => void; fail: () => void }): void {
    const { time, latencyMs } = this.#options
    const connection = this.#connection
    const arrival = Math.max(time.monotonic() + latencyMs(), this.#requestsFreeAt)
    this.#requestsFreeAt = arrival
    const answer = (deliver: () => void) =>
      this.#answerLater(() => {
        if (connection === this.#connection) deliver()
      })
    time.after(arrival - time.monotonic(), () => {
      if (connection !== this.#connection) return
      Promise.resolve()
        .then(serve)
        .then(
          (result) => answer(() => resolve(result)),
          () => answer(fail),
        )
    })
  }

  #answerLater(deliver: () => void): void {
    const { time, latencyMs } = this.#options
    this.#answersFreeAt = Math.max(time.monotonic() + latencyMs(), this.#answersFreeAt)
    time.after(this.#answersFreeAt - time.monotonic(), deliver)
  }
}
