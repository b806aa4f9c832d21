import { Permits, type PermitWait } from './permits.ts'

/** Runs the work of one key one by one, in order of arrival. Work of different keys runs side by side. */
export class KeyedQueue {
  readonly #permits = new Map<string, Permits>()

  /** Runs `work` in its turn. @throws the error of `wait`, when its turn does not come in time; the error of `work` */
  async run<Result>(key: string, work: () => Promise<Result>, wait?: PermitWait): Promise<Result> {
    const permits = this.#permits.get(key) ?? new Permits(1)
    this.#permits.set(key, permits)
    try {
      return await permits.run(work, wait)
    } finally {
      if (permits.running === 0) this.#permits.delete(key)
    }
  }
}
