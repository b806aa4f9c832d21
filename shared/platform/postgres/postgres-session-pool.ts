import { setTimeout as pause } from 'node:timers/promises'
import { Permits } from '../concurrency/permits.ts'
import { unavailable } from '../database/driver-errors.ts'
import type { PostgresSession } from './postgres-session.ts'

interface SessionPoolOptions {
  readonly open: () => PostgresSession
  /** The largest number of sessions. */
  readonly size: number
  /** How long a caller waits for a session; milliseconds. */
  readonly waitTimeoutMs: number
}

/** Sessions for transactions and for statements of the query builder. Each is lent to one caller at a time. */
export class SessionPool {
  readonly #options: SessionPoolOptions
  readonly #permits: Permits
  readonly #lent = new Set<PostgresSession>()
  #idle: PostgresSession[] = []

  constructor(options: SessionPoolOptions) {
    this.#options = options
    this.#permits = new Permits(options.size)
  }

  /**
   * Lends a session to `work` alone, until it settles.
   *
   * @throws Unavailable when no session becomes free in time
   */
  lend<Result>(work: (session: PostgresSession) => Promise<Result>): Promise<Result> {
    const { waitTimeoutMs: timeoutMs } = this.#options
    const onTimeout = () => unavailable(`no session became free within ${timeoutMs} ms`)
    return this.#permits.run(() => this.#use(work), { timeoutMs, onTimeout })
  }

  /** Waits for lent sessions, `waitMs` or as long as a caller waits for a session. Then ends all sessions. */
  async close(waitMs = this.#options.waitTimeoutMs): Promise<void> {
    const stepMs = 5
    for (let waitedMs = 0; this.#lent.size > 0 && waitedMs < waitMs; waitedMs += stepMs) {
      await pause(stepMs)
    }
    for (const session of this.#lent) session.discard()
    await Promise.all(this.#idle.map((session) => session.close()))
  }

  async #use<Result>(work: (session: PostgresSession) => Promise<Result>): Promise<Result> {
    this.#idle = this.#idle.filter(({ lost }) => !lost)
    const session = this.#idle.pop() ?? this.#options.open()
    this.#lent.add(session)
    try {
      return await work(session)
    } finally {
      this.#lent.delete(session)
      if (!session.lost) this.#idle.push(session)
    }
  }
}
