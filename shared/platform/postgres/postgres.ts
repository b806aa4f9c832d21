/**
 * The database port on a PostgreSQL server. Hot reads are pipelined over a few sessions, used in rotation. Hot writes,
 * transactions and the query builder borrow sessions of a pool each, so that reads never wait behind a commit. While
 * PostgreSQL is down, requests fail at once and a single probe checks for its return; while commits wait for a standby,
 * writes do (`write-gate.ts`). No restart is needed.
 */
import { type SQL, sql } from 'drizzle-orm'
import { Availability } from '../concurrency/availability.ts'
import { frozenAfterMs, Liveness } from '../concurrency/liveness.ts'
import {
  type Database,
  type Drizzle,
  type Parameter,
  parameterText,
  type RowsOfEach,
  type StatementsFor,
} from '../database/database.ts'
import { unavailable } from '../database/driver-errors.ts'
import { drizzleOver } from '../database/drizzle-over.ts'
import { retryConflicts } from '../database/transaction-retry.ts'
import type { PostgresClient } from './postgres-client.ts'
import { adaptToDrizzle, sendTo, transact } from './postgres-drizzle.ts'
import { runExclusively, runExclusivelyIfFree } from './postgres-exclusive.ts'
import { requireSuitable } from './postgres-pooler.ts'
import { PostgresServers } from './postgres-servers.ts'
import { PostgresSession } from './postgres-session.ts'
import { SessionPool } from './postgres-session-pool.ts'
import { parseDatabaseUrl } from './postgres-url.ts'
import { maxWrites, type Pass, WriteGate } from './write-gate.ts'

interface PostgresOptions {
  /** The number of sessions for hot reads; 4 when left out. */
  readonly pipelines?: number
  /** The number of sessions for transactions, and of those for the query builder; 4 when left out. */
  readonly sessions?: number
  /** The number of sessions for hot writes, and of writes at once; 4 when left out. */
  readonly writes?: number
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

/** Without `simple: false`, postgres.js never prepares a statement without parameters. Its types lack the option. */
const prepared = { prepare: true, simple: false }

const probeIntervalMs = 250

/** The commits of this role in this database that wait for a standby. A role sees its own sessions without a grant. */
const waitingSql = `select pid || ' ' || query_start as commit from pg_stat_activity
  where datname = current_database() and usename = current_user and wait_event = 'SyncRep'`

/** Writes a record to the log of PostgreSQL, and nothing to a table. Every role may do so. */
const probeSql = "select pg_logical_emit_message(true, 'keyhold', '')::text as position"

class PostgresDatabase implements Database {
  readonly concurrentSessions = true
  readonly drizzle: Drizzle
  readonly #servers: PostgresServers
  readonly #responseTimeoutMs: number
  readonly #availability: Availability
  readonly #pipelines: (PostgresSession | undefined)[]
  /** For the query builder. */
  readonly #builders: SessionPool
  readonly #transactions: SessionPool
  /** For hot writes. The gate lets no more of them through than there are sessions; a probe may need one more. */
  #writers: PostgresSession[] = []
  readonly #writes: WriteGate
  readonly #liveness: Liveness
  readonly #sessions = new Set<PostgresSession>()
  /** The session for probes. */
  #probeSession: PostgresSession | undefined
  #next = 0

  constructor(servers: PostgresServers, options: PostgresOptions) {
    const { pipelines = 4, sessions = 4, writes = maxWrites, responseTimeoutMs = 5000 } = options
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
    const pool = (size: number, open: () => PostgresSession) =>
      new SessionPool({ open, size, waitTimeoutMs: responseTimeoutMs })
    this.#builders = pool(sessions, () => this.#open(adaptToDrizzle))
    this.#transactions = pool(sessions, () => this.#open(adaptToDrizzle, { writes: true }))
    this.#writes = new WriteGate({
      writes,
      waitTimeoutMs: responseTimeoutMs,
      readWaiting: async () => (await this.query<{ commit: string }>(waitingSql)).map(({ commit }) => commit),
      probe: () => this.#write(probeSql, []),
    })
    this.drizzle = drizzleOver((...statement) => this.#lend(this.#builders, (session) => sendTo(session)(...statement)))
  }

  async query<Row extends object>(text: string, parameters: readonly Parameter[] = []): Promise<Row[]> {
    this.#availability.check()
    const values = parameters.map(parameterText)
    return this.#pipeline().run((client) => client.unsafe<Row[]>(text, values, prepared))
  }

  async queryAll<Rows extends readonly object[]>(statements: StatementsFor<Rows>): Promise<RowsOfEach<Rows>> {
    this.#availability.check()
    const all = statements.map(
      (statement) => statement && { text: statement[0], values: statement[1].map(parameterText) },
    )
    const rows = await this.#pipeline().run((client) =>
      Promise.all(all.map((statement) => (statement ? client.unsafe(statement.text, statement.values, prepared) : []))),
    )
    return rows as unknown as RowsOfEach<Rows>
  }

  readWithin<Row extends object>(statement: SQL, timeoutMs: number): Promise<Row[]> {
    const read = async (transaction: Drizzle) => {
      await transaction.execute(sql.raw(`set local statement_timeout = ${timeoutMs}`))
      return (await transaction.execute(statement)) as Row[]
    }
    return this.#lend(this.#builders, (session) => transact(session, read))
  }

  write<Row extends object>(text: string, parameters: readonly Parameter[] = []): Promise<Row[]> {
    return retryConflicts(() => this.#writes.run(() => this.#write<Row>(text, parameters)))
  }

  transaction<Result>(work: (transaction: Drizzle) => Promise<Result>): Promise<Result> {
    return this.#writes.runTransaction((commit) =>
      retryConflicts(() => this.#lend(this.#transactions, (session) => transact(session, work, commit))),
    )
  }

  checkWrites(): void {
    this.#availability.check()
    this.#writes.check()
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
    return this.#onOwnSession((session) => runExclusively(session, { name, waitTimeoutMs, commit: this.#pass }, work))
  }

  exclusivelyIfFree(name: string, work: (drizzle: Drizzle) => Promise<void>): Promise<boolean> {
    return this.#onOwnSession((lock) =>
      this.#onOwnSession((statements) =>
        runExclusivelyIfFree({ lock, statements }, { name, commit: this.#pass }, work),
      ),
    )
  }

  async close(): Promise<void> {
    this.#availability.stop(unavailable('closed'))
    this.#writes.stop()
    this.#endProbes()
    // Nobody waits any more for commits that wait for a standby.
    const { isWaiting } = this.#writes
    if (isWaiting) for (const session of this.#writers) session.discard()
    await Promise.all([
      this.#transactions.close(isWaiting ? 0 : undefined),
      ...[this.#builders, ...this.#writers, ...this.#pipelines].map((sessions) => sessions?.close()),
    ])
  }

  /** Exclusive work sends its commits through the gate too. */
  readonly #pass: Pass = (write) => this.#writes.commit(write)

  async #write<Row extends object>(text: string, parameters: readonly Parameter[]): Promise<Row[]> {
    const values = parameters.map(parameterText)
    this.#availability.check()
    return this.#writer().run((client) => client.unsafe<Row[]>(text, values, prepared))
  }

  async #lend<Result>(pool: SessionPool, work: (session: PostgresSession) => Promise<Result>): Promise<Result> {
    this.#availability.check()
    return pool.lend((session) => {
      // The server may have gone away while the caller waited for the session.
      this.#availability.check()
      return work(session)
    })
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

  /** A session without a write. */
  #writer(): PostgresSession {
    this.#writers = this.#writers.filter(({ lost }) => !lost)
    const idle = this.#writers.find(({ isAwaited }) => !isAwaited)
    if (idle) return idle
    const opened = this.#open(prepareForHotStatements, { writes: true })
    this.#writers.push(opened)
    return opened
  }

  #open(prepare: (client: PostgresClient) => void, { writes = false } = {}): PostgresSession {
    const session: PostgresSession = new PostgresSession({
      servers: this.#servers,
      responseTimeoutMs: this.#responseTimeoutMs,
      prepare,
      mayBeSilent: () => writes && this.#writes.isWaiting,
      onUnreachable: (reason) => this.#availability.suspend(reason),
      onAsked: () => this.#liveness.watch(),
      onAnswered: () => this.#liveness.noteAnswer(),
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
 * `analyze`. A database that spreads rows over servers finds the server of a row only when it plans for parameters: its
 * URL says `plan_cache_mode=auto`.
 */
function prepareForHotStatements(client: PostgresClient): void {
  client.options.serializers = {}
  // Behind a pooler each statement is planned again, and there are no settings of a session.
  if (!client.options.prepare) return
  const { connection } = client.options
  const plans = connection.plan_cache_mode ?? 'force_generic_plan'
  Object.assign(connection, { plan_cache_mode: plans, enable_seqscan: 'off', jit: 'off' })
}
