/**
 * The database port on a PostgreSQL server. Hot statements are pipelined over a few sessions used in rotation; transactions
 * and the query builder borrow sessions of a pool. Nobody waits for a server that is known to be away, and no restart is needed
 * when it is back.
 */
import { Availability } from '../concurrency/availability.ts'
import { frozenAfterMs, Liveness } from '../concurrency/liveness.ts'
import type { Database, Drizzle, Parameter } from '../database/database.ts'
import { unavailable } from '../database/driver-errors.ts'
import { parameterText } from '../database/parameter-text.ts'
import { retryConflicts } from '../database/transaction-retry.ts'
import { checkUrl, type PostgresClient } from './postgres-client.ts'
import { adaptToDrizzle, drizzleOver } from './postgres-drizzle.ts'
import { runExclusively, runExclusivelyIfFree } from './postgres-exclusive.ts'
import { PostgresSession } from './postgres-session.ts'
import { SessionPool } from './postgres-session-pool.ts'

export interface PostgresOptions {
  /** Sessions over which hot statements are pipelined. */
  readonly pipelines?: number
  /** Sessions for transactions and the query builder. */
  readonly sessions?: number
  /**
   * How long a session waits for an answer while others have theirs, in milliseconds; a server that answers nobody is given up after
   * `frozenAfterMs`. Single statements end at four fifths of it. A write which rejects with Unavailable may or may not have taken effect:
   * only a statement that can be repeated may be retried.
   */
  readonly answerTimeoutMs?: number
}

/**
 * Opens the database at `url`. Connects when first used, so it does not reject while the server is away: `ping` tells.
 *
 * @throws TypeError when `url` is not the address of a PostgreSQL server
 */
export const openPostgres = (url: string, options: PostgresOptions = {}): Database => {
  checkUrl(url)
  return new PostgresDatabase(url, options)
}

const PROBE_INTERVAL_MS = 250

/** `simple` is missing in the types of postgres.js: without it, a statement that has no parameters is never prepared. */
const PREPARED = { prepare: true, simple: false }

class PostgresDatabase implements Database {
  readonly concurrentSessions = true
  readonly drizzle: Drizzle
  readonly #url: string
  readonly #answerTimeoutMs: number
  readonly #availability: Availability
  readonly #pipelines: (PostgresSession | undefined)[]
  readonly #pool: SessionPool
  readonly #liveness: Liveness
  readonly #sessions = new Set<PostgresSession>()
  /** Asks whether the server lives while others wait. */
  #light: PostgresSession | undefined
  #next = 0

  constructor(url: string, { pipelines = 4, sessions = 8, answerTimeoutMs = 5000 }: PostgresOptions) {
    this.#url = url
    this.#answerTimeoutMs = answerTimeoutMs
    this.#pipelines = new Array(pipelines).fill(undefined)
    this.#availability = new Availability({ probe: () => this.#knock(), probeIntervalMs: PROBE_INTERVAL_MS })
    this.#liveness = new Liveness({
      isAwaited: () => [...this.#sessions].some((session) => session.isAwaited),
      probe: () => this.#askLight(),
      onFrozen: () => this.#giveUp(),
      onRest: () => this.#restLight(),
    })
    this.#pool = new SessionPool({
      open: () => this.#open(adaptToDrizzle),
      size: sessions,
      waitTimeoutMs: answerTimeoutMs,
    })
    this.drizzle = drizzleOver(async (work) => {
      this.#availability.check()
      return this.#pool.lend((session) => {
        // It may have gone away while others had the session.
        this.#availability.check()
        return work(session)
      })
    })
  }

  async query<Row extends object>(text: string, parameters: readonly Parameter[] = []): Promise<Row[]> {
    this.#availability.check()
    const values = parameters.map(parameterText)
    return this.#pipeline().run((client) => client.unsafe<Row[]>(text, values, PREPARED))
  }

  transaction<Result>(work: (transaction: Drizzle) => Promise<Result>): Promise<Result> {
    return retryConflicts(() => this.drizzle.transaction(work))
  }

  async ping(): Promise<void> {
    await this.query('select 1')
  }

  exclusively<Result>(
    name: string,
    work: (drizzle: Drizzle) => Promise<Result>,
    { waitTimeoutMs = 60_000 }: { waitTimeoutMs?: number } = {},
  ): Promise<Result> {
    return this.#onOwnSession((session) => runExclusively(session, { name, waitTimeoutMs }, work))
  }

  exclusivelyIfFree(name: string, work: (drizzle: Drizzle) => Promise<void>): Promise<boolean> {
    return this.#onOwnSession((session) => runExclusivelyIfFree(session, name, work))
  }

  async close(): Promise<void> {
    this.#availability.stop(unavailable('closed'))
    this.#restLight()
    await Promise.all([this.#pool.close(), ...this.#pipelines.map((session) => session?.close())])
  }

  async #onOwnSession<Result>(work: (session: PostgresSession) => Promise<Result>): Promise<Result> {
    this.#availability.check()
    const session = this.#open(adaptToDrizzle)
    try {
      return await work(session)
    } finally {
      await session.close()
    }
  }

  #pipeline(): PostgresSession {
    const index = this.#next++ % this.#pipelines.length
    const current = this.#pipelines[index]
    if (current !== undefined && !current.lost) return current
    const opened = this.#open(prepareForHotStatements)
    this.#pipelines[index] = opened
    return opened
  }

  #open(prepare: (client: PostgresClient) => void): PostgresSession {
    const session: PostgresSession = new PostgresSession({
      url: this.#url,
      answerTimeoutMs: this.#answerTimeoutMs,
      prepare,
      onUnreachable: (reason) => this.#availability.suspend(reason),
      onAsked: () => this.#liveness.watch(),
      onAnswered: () => this.#liveness.heard(),
      onLost: () => this.#sessions.delete(session),
    })
    this.#sessions.add(session)
    return session
  }

  /** Whether the server is back. */
  async #knock(): Promise<void> {
    await this.#askLight()
    this.#restLight()
  }

  /** On a session where nothing else is under way. */
  async #askLight(): Promise<void> {
    if (this.#light === undefined || this.#light.lost) this.#light = this.#open(() => {})
    await this.#light.run((client) => client.unsafe('select 1'))
  }

  #restLight(): void {
    this.#light?.discard()
    this.#light = undefined
  }

  /** The server is frozen: nobody waits any more. */
  #giveUp(): void {
    const reason = unavailable(`no answer to anything for ${frozenAfterMs} ms`)
    this.#availability.suspend(reason)
    for (const session of [...this.#sessions]) session.giveUp(reason)
  }
}

/**
 * Parameters arrive as text: postgres.js must not rewrite them, as it would times, JSON and booleans by the type of the column.
 *
 * Hot statements find rows by key, whatever the parameters, so each is planned once. Its plan must stay good while a table grows
 * from nothing: a sequential scan, which statistics of a small table favour, would be run until the next `analyze`.
 */
const prepareForHotStatements = (client: PostgresClient): void => {
  client.options.serializers = {}
  Object.assign(client.options.connection, { plan_cache_mode: 'force_generic_plan', enable_seqscan: 'off', jit: 'off' })
}
