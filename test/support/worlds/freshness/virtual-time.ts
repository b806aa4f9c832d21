import type { Clock } from '../../../../shared/platform/clock.ts'

interface Due {
  readonly at: number
  readonly run: () => void
}

/**
 * Time that passes only when told to, with what is due in it. Whatever was set off has run as far as it can before time
 * moves on, so that the same calls always interleave in the same way.
 */
export class VirtualTime implements Clock {
  #now = 1_000_000
  #due: Due[] = []

  now = (): number => 1_700_000_000_000 + this.#now

  monotonic = (): number => this.#now

  /** Runs `run` after so many milliseconds; what is due at the same moment runs in the order of these calls. */
  after(milliseconds: number, run: () => void): void {
    const at = this.#now + Math.max(0, milliseconds)
    const index = this.#due.findLastIndex((due) => due.at <= at) + 1
    this.#due.splice(index, 0, { at, run })
  }

  /** Resolves after so many milliseconds, or rejects when `signal` is aborted before. */
  sleep(milliseconds: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const abort = () => reject(signal?.reason)
      signal?.addEventListener('abort', abort, { once: true })
      this.after(milliseconds, () => {
        signal?.removeEventListener('abort', abort)
        resolve()
      })
    })
  }

  /** Lets so many milliseconds pass. */
  async pass(milliseconds: number): Promise<void> {
    const end = this.#now + milliseconds
    await quiet()
    for (let next = this.#due[0]; next !== undefined && next.at <= end; next = this.#due[0]) {
      this.#due.shift()
      this.#now = next.at
      next.run()
      await quiet()
    }
    this.#now = end
  }

  /**
   * Lets time pass until `work` has ended, at most so many milliseconds. @throws Error when it has not ended by then
   */
  async until<T>(work: Promise<T> | T, withinMs = 10_000): Promise<T> {
    let ended = false
    const end = () => {
      ended = true
    }
    const promise = Promise.resolve(work)
    promise.then(end, end)
    await quiet()
    for (let passed = 0; !ended && passed < withinMs; passed += 1) await this.pass(1)
    if (!ended) throw new Error(`not ended after ${withinMs} ms`)
    return promise
  }
}

/** Resolves when no promise can go on without time or I/O. */
const quiet = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

let current: VirtualTime | undefined

/** From here on `virtualSleep` sleeps in this time. */
export const useVirtualTime = (time: VirtualTime): void => {
  current = time
}

/** `setTimeout` of `node:timers/promises` in virtual time, to mock that module with. */
export function virtualSleep(
  milliseconds: number,
  _value?: unknown,
  options?: { signal?: AbortSignal },
): Promise<void> {
  if (current === undefined) throw new Error('no virtual time is in use')
  return current.sleep(milliseconds, options?.signal)
}

/** The module of `withDeadline` in virtual time, to mock it with. */
export const virtualDeadlines = <Module extends { readonly DeadlinePassed: new (message: string) => Error }>(
  original: Module,
) => ({
  ...original,
  withDeadline: <T>(work: Promise<T>, milliseconds: number): Promise<T> =>
    new Promise((resolve, reject) => {
      work.then(resolve, reject)
      void virtualSleep(milliseconds).then(() => reject(new original.DeadlinePassed(`no answer in ${milliseconds} ms`)))
    }),
})
