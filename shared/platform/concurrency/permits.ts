/** How long work may wait for its permit. */
export interface PermitWait {
  /** Milliseconds. */
  readonly timeoutMs: number
  /** The error when no permit becomes free in time. */
  readonly onTimeout: () => Error
}

/** Limits how many pieces of work run at the same time. The others wait in order of arrival. */
export class Permits {
  readonly #count: number
  readonly #waiting = new Set<() => void>()
  #free: number

  constructor(count: number) {
    this.#count = count
    this.#free = count
  }

  get running(): number {
    return this.#count - this.#free
  }

  get waiting(): number {
    return this.#waiting.size
  }

  /**
   * Runs `work` when a permit is free, and gives the permit back when it settles. Work that did not get a permit in
   * time never runs.
   *
   * @throws the error of `wait`; the error of `work`
   */
  async run<Result>(work: () => Promise<Result>, wait?: PermitWait): Promise<Result> {
    if (this.#free > 0) this.#free -= 1
    else await this.#turn(wait)
    try {
      return await work()
    } finally {
      this.#pass()
    }
  }

  #turn(wait: PermitWait | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      const start = () => {
        clearTimeout(timer)
        resolve()
      }
      const giveUp = ({ onTimeout }: PermitWait) => {
        this.#waiting.delete(start)
        reject(onTimeout())
      }
      const timer = wait && setTimeout(giveUp, wait.timeoutMs, wait)
      this.#waiting.add(start)
    })
  }

  /** Hands a permit to the work that has waited longest. */
  #pass(): void {
    const [next] = this.#waiting
    if (next === undefined) this.#free += 1
    else {
      this.#waiting.delete(next)
      next()
    }
  }
}
