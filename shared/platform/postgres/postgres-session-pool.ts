/** Sessions lent to one user at a time: for transactions, and for the statements of the query builder. */
import { unavailable } from '../database/driver-errors.ts'
import type { PostgresSession } from './postgres-session.ts'

export interface SessionPoolOptions {
  readonly open: () => PostgresSession
  /** How many sessions there may be. */
  readonly size: number
  /** How long somebody waits for a session; milliseconds. */
  readonly waitTimeoutMs: number
}

export class SessionPool {
  readonly #options: SessionPoolOptions
  readonly #idle: PostgresSession[] = []
  readonly #lent = new Set<PostgresSession>()
  readonly #waiting = new Set<(session: PostgresSession) => void>()

  constructor(options: SessionPoolOptions) {
    this.#options = options
  }

  /**
   * Lends a session to `work` alone, until it settles.
   *
   * @throws Unavailable when none becomes free in time
   */
  async lend<Result>(work: (session: PostgresSession) => Promise<Result>): Promise<Result> {
    const session = this.#take() ?? (await this.#wait())
    try {
      return await work(session)
    } finally {
      this.#giveBack(session)
    }
  }

  /** Waits for what is lent, no longer than somebody would wait for a session, then ends all sessions. */
  async close(): Promise<void> {
    const step = 5
    for (let waited = 0; this.#lent.size > 0 && waited < this.#options.waitTimeoutMs; waited += step) {
      await new Promise((resolve) => setTimeout(resolve, step))
    }
    for (const session of this.#lent) session.discard()
    await Promise.all(this.#idle.map((session) => session.close()))
  }

  #take(): PostgresSession | undefined {
    let session = this.#idle.pop()
    while (session?.lost) session = this.#idle.pop()
    if (session === undefined && this.#lent.size < this.#options.size) session = this.#options.open()
    if (session !== undefined) this.#lent.add(session)
    return session
  }

  #wait(): Promise<PostgresSession> {
    return new Promise((resolve, reject) => {
      const serve = (session: PostgresSession): void => {
        clearTimeout(timer)
        resolve(session)
      }
      const timer = setTimeout(() => {
        this.#waiting.delete(serve)
        reject(unavailable(`no session became free within ${this.#options.waitTimeoutMs} ms`))
      }, this.#options.waitTimeoutMs)
      this.#waiting.add(serve)
    })
  }

  #giveBack(session: PostgresSession): void {
    this.#lent.delete(session)
    if (!session.lost) this.#idle.push(session)
    const [next] = this.#waiting
    if (next === undefined) return
    const free = this.#take()
    if (free === undefined) return
    this.#waiting.delete(next)
    next(free)
  }
}
