/**
 * The database port on a PostgreSQL server. Hot statements are pipelined over a few sessions, used in rotation;
 * transactions and the query builder borrow sessions of a pool. While PostgreSQL is down, requests fail at once and a
 * single probe checks for its return. No restart is needed.
 */
import { Availability } from '../concurrency/availability.ts'
import { frozenAfterMs, Liveness } from '../concurrency/liveness.ts'
import { type Database, type Drizzle, type Parameter, parameterText } from '../database/database.ts'
import { unavailable } from '../database/driver-errors.ts'
import { retryConflicts } from '../database/transaction-retry.ts'
import type { PostgresClient } from './postgres-client.ts'
import { adaptToDrizzle, drizzleOver } from './postgres-drizzle.ts'
import { runExclusively, runExclusivelyIfFree } from './postgres-exclusive.ts'
import { requireSuitable } from './postgres-pooler.ts'
import { PostgresServers } from './postgres-servers.ts'
import { PostgresSession } from './postgres-session.ts'
import { SessionPool } from './postgres-session-pool.ts'
import { parseDatabaseUrl } from './postgres-url.ts'

/** The sessions and the limits of a database. */
export interface PostgresOptions {
  /** The number of sessions for hot statements; 4 when left out. */
  readonly pipelines?: number
  /** The number of sessions for transactions and the query builder; 8 when left out. */
  readonly sessions?: number
  /**
   * How long a session waits for an answer while other sessions get theirs, in milliseconds; 5,000 when left out. A
   * server that answers no session at all is taken for frozen after `frozenAfterMs`. PostgreSQL ends single statements
   * after four fifths of this time. A write that rejects with Unavailable may have taken effect or not: retry only
   * statements that can be repeated.
   */
  readonly responseTimeoutMs?: number
}

/**
 * Opens the database at `url`. It connects at its first use and never fails because the server is away; use `ping` to
 * check that.
 *
 * @throws TypeError when `url` is not the address of one PostgreSQL server, or of several of which one is the primary
 */
export function openPostgres(url: string, options: PostgresOptions = {}): Database {
  return new PostgresDatabase(new PostgresServers(parseDatabaseUrl(url)), options)
}

const probeIntervalMs = 250

/**
 * Without `simple: false`, postgres.js never prepares a statement that has no parameters. Its types do not have the
 * option.
 */
const prepared = { prepare: true, simple: false }

class PostgresDatabase implements Database {
  readonly concurrentSessions = true
  readonly drizzle: Drizzle
  readonly #servers: PostgresServers
  readonly #responseTimeoutMs: number
  readonly #availability: Availability
  readonly #pipelines: (PostgresSession | undefined)[]
  readonly #pool: SessionPool
  readonly #liveness: Liveness
  readonly #sessions = new Set<PostgresSession>()
  /** The session for probes. */
  #probeSession: PostgresSession | undefined
  #next = 0

  constructor(servers: PostgresServers, { pipelines = 4, sessions = 8, responseTimeoutMs = 5000 }: PostgresOptions) {
    this.#servers = servers
    this.#responseTimeoutMs = responseTimeoutMs
    this.#pipelines = new Array(pipelines).fill(undefined)
    this.#availability = new Availability({ probe: () => this.#probe(), probeIntervalMs })
    this.#liveness = new Liveness({
      isAwaited: () => [...this.#sessions].some((session) => session.isAwaited),
      probe: () => this.#select1(),
      onFrozen: () => this.#onFrozen(),
      onRest: () => this.#endProbes(),
    })
    this.#pool = new SessionPool({
      open: () => this.#open(adaptToDrizzle),
      size: sessions,
      waitTimeoutMs: responseTimeoutMs,
    })
    this.drizzle = drizzleOver(async (work) => {
      this.#availability.check()
      return this.#pool.lend((session) => {
        // The server may have gone away while the caller waited for the session.
        this.#availability.check()
        return work(session)
      })
    })
  }

  async query<Row extends object>(text: string, parameters: readonly Parameter[] = []): Promise<Row[]> {
    this.#availability.check()
    const values = parameters.map(parameterText)
    return this.#pipeline().run((client) => client.unsafe<Row[]>(text, values, prepared))
  }

  transaction<Result>(work: (transaction: Drizzle) => Promise<Result>): Promise<Result> {
    return retryConflicts(() => this.drizzle.transaction(work))
  }

  async ping(): Promise<void> {
    await this.query('select 1')
  }

  requireSuitable(): Promise<void> {
    return this.#onOwnSession((session) => requireSuitable(session, this.#servers))
  }

  exclusively<Result>(
    name: string,
    work: (drizzle: Drizzle) => Promise<Result>,
    { waitTimeoutMs = 60_000 }: { waitTimeoutMs?: number } = {},
  ): Promise<Result> {
    return this.#onOwnSession((session) => runExclusively(session, { name, waitTimeoutMs }, work))
  }

  exclusivelyIfFree(name: string, work: (drizzle: Drizzle) => Promise<void>): Promise<boolean> {
    return this.#onOwnSession((lock) =>
      this.#onOwnSession((worker) => runExclusivelyIfFree({ lock, worker }, name, work)),
    )
  }

  async close(): Promise<void> {
    this.#availability.stop(unavailable('closed'))
    this.#endProbes()
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
      servers: this.#servers,
      responseTimeoutMs: this.#responseTimeoutMs,
      prepare,
      onUnreachable: (reason) => this.#availability.suspend(reason),
      onAsked: () => this.#liveness.watch(),
      onAnswered: () => this.#liveness.heard(),
      onLost: () => this.#sessions.delete(session),
    })
    this.#sessions.add(session)
    return session
  }

  /** Checks whether the server is back after an outage. */
  async #probe(): Promise<void> {
    await this.#select1()
    this.#endProbes()
  }

  /** Runs a light statement on a session without other statements. */
  async #select1(): Promise<void> {
    if (this.#probeSession === undefined || this.#probeSession.lost) this.#probeSession = this.#open(() => {})
    await this.#probeSession.run((client) => client.unsafe('select 1'))
  }

  #endProbes(): void {
    this.#probeSession?.discard()
    this.#probeSession = undefined
  }

  /** Fails all waiting statements of a frozen server. */
  #onFrozen(): void {
    const reason = unavailable(`no answer to anything for ${frozenAfterMs} ms`)
    this.#availability.suspend(reason)
    for (const session of [...this.#sessions]) session.giveUp(reason)
  }
}

/**
 * Parameters are texts. postgres.js must not convert them, as it does with times, JSON and booleans, because of the
 * type of a column.
 *
 * Hot statements find rows by key for all parameters, so each is planned once. The plan must stay good while a table
 * grows from empty: the statistics of a small table favour a sequential scan, which would then be used until the next
 * `analyze`.
 */
function prepareForHotStatements(client: PostgresClient): void {
  client.options.serializers = {}
  // Behind a pooler each statement is planned anew, and there are no settings of a session.
  if (!client.options.prepare) return
  Object.assign(client.options.connection, { plan_cache_mode: 'force_generic_plan', enable_seqscan: 'off', jit: 'off' })
}
