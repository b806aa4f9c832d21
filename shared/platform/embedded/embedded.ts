/**
 * The database port on the PostgreSQL engine that is embedded in this process (PGlite). There is one engine for each
 * folder and process; all servers of the process share it. It is a single session: during a transaction, all other
 * transactions and statements wait. Code inside a transaction that waits for a statement outside it, its own or one of
 * the other server, waits for ever. Data survives a killed process, but not a power cut.
 */
import { Mutex, PGlite, type Transaction, types } from '@electric-sql/pglite'
import { pg_trgm } from '@electric-sql/pglite/contrib/pg_trgm'
import type { SQL } from 'drizzle-orm'
import {
  type Database,
  type Drizzle,
  type Parameter,
  parameterText,
  type RowsOfEach,
  type StatementsFor,
} from '../database/database.ts'
import { translateDriverError, unavailable } from '../database/driver-errors.ts'
import { drizzleOver, type Send, workInTransaction } from '../database/drizzle-over.ts'
import { retryConflicts } from '../database/transaction-retry.ts'
import { OperatorError } from '../operator-error.ts'
import { makeDataFolder } from './new-data-folder.ts'
import { PreparedStatements } from './prepared-statements.ts'

/** The engine of one folder. */
export interface EmbeddedEngine {
  /** A database on the engine for one server. Closing it leaves the engine running. */
  database(): Database
  /** Waits for running statements, then stops the engine. After that, all its databases reject with Unavailable. */
  close(): Promise<void>
}

/**
 * Starts the engine on `folder`, which is made when it is missing. No other process may have the folder open: take the
 * lock of the data folder first.
 * @throws OperatorError when the engine does not start with the content of the folder
 */
export async function openEmbeddedEngine(folder: string): Promise<EmbeddedEngine> {
  return shareEngine(await startEngine(folder))
}

/** The databases of an engine that runs in the time zone UTC, and knows these statements. */
export function shareEngine(engine: PGlite, statements = new PreparedStatements()): EmbeddedEngine {
  const shared: SharedEngine = { engine, statements, turns: new Mutex(), exclusive: new Map() }
  return {
    database: () => new EmbeddedDatabase(shared),
    close: () => shared.turns.runExclusive(() => engine.close()),
  }
}

/**
 * Settings of every engine. It clears its buffers at each start: 16 MB instead of its default of 128 MB save a fifth of
 * the start and 130 MB of memory. The buffers of the log keep their size. The extension is there for
 * `create extension`, also in a folder that was made without it.
 */
export const engineSettings = {
  startParams: [...PGlite.defaultStartParams, '-c', 'shared_buffers=16MB', '-c', 'wal_buffers=4MB'],
  extensions: { pg_trgm },
}

async function startEngine(folder: string): Promise<PGlite> {
  try {
    await makeDataFolder(folder)
    const engine = await PGlite.create(folder, engineSettings)
    await engine.exec("set timezone = 'UTC'")
    return engine
  } catch (cause) {
    const hint = 'is the disk full, or is it no database, or a damaged one?'
    throw new OperatorError(`The embedded database in ${folder} cannot be opened: ${hint}`, { cause })
  }
}

/** Drizzle reads times itself. */
const parsers = Object.fromEntries([types.DATE, types.TIMESTAMP, types.TIMESTAMPTZ].map((type) => [type, String]))

const sendTo =
  (engine: Pick<PGlite, 'query'>): Send =>
  async (text, parameters, method) => {
    const rowMode = method === 'all' ? 'array' : 'object'
    try {
      return (await engine.query<object>(text, parameters, { parsers, rowMode })).rows
    } catch (error) {
      throw translateDriverError(error)
    }
  }

/** What the databases of one engine share. */
interface SharedEngine {
  readonly engine: PGlite
  readonly statements: PreparedStatements
  /** Prepared statements and transactions take turns: the engine itself only knows of the statements it prepares. */
  readonly turns: Mutex
  /** The last exclusive work of each name that has not ended yet. The next work of that name waits for it. */
  readonly exclusive: Map<string, Promise<unknown>>
}

class EmbeddedDatabase implements Database {
  readonly concurrentSessions = false
  readonly drizzle: Drizzle
  readonly #shared: SharedEngine
  #closed = false

  constructor(shared: SharedEngine) {
    this.#shared = shared
    this.drizzle = drizzleOver(sendTo(shared.engine))
  }

  async query<Row extends object>(text: string, parameters: readonly Parameter[] = []): Promise<Row[]> {
    this.#check()
    const { engine, statements, turns } = this.#shared
    const values = parameters.map(parameterText)
    try {
      return await turns.runExclusive(() => {
        if (engine.closed) throw unavailable('closed')
        return statements.run<Row>(engine, text, values)
      })
    } catch (error) {
      throw translateDriverError(error)
    }
  }

  async queryAll<Rows extends readonly object[]>(statements: StatementsFor<Rows>): Promise<RowsOfEach<Rows>> {
    const all = statements.map((statement) => (statement ? this.query(...statement) : []))
    return (await Promise.all(all)) as RowsOfEach<Rows>
  }

  async readWithin<Row extends object>(statement: SQL): Promise<Row[]> {
    this.#check()
    return (await this.drizzle.execute(statement)) as Row[]
  }

  write<Row extends object>(text: string, parameters: readonly Parameter[] = []): Promise<Row[]> {
    return retryConflicts(() => this.query<Row>(text, parameters))
  }

  /** This engine has no standby. */
  checkWrites(): void {
    this.#check()
  }

  async transaction<Result>(work: (transaction: Drizzle) => Promise<Result>): Promise<Result> {
    this.#check()
    return retryConflicts(() => this.#transact(work))
  }

  async ping(): Promise<void> {
    await this.query('select 1')
  }

  async requireSuitable(): Promise<void> {
    this.#check()
  }

  async exclusively<Result>(name: string, work: (drizzle: Drizzle) => Promise<Result>): Promise<Result> {
    this.#check()
    return this.#alone(name, () => this.#transact(work))
  }

  async exclusivelyIfFree(name: string, work: (drizzle: Drizzle) => Promise<void>): Promise<boolean> {
    this.#check()
    if (this.#shared.exclusive.has(name)) return false
    await this.#alone(name, () => work(this.drizzle))
    return true
  }

  async close(): Promise<void> {
    this.#closed = true
    await this.#shared.engine.query('select 1').catch(() => {})
  }

  async #transact<Result>(work: (transaction: Drizzle) => Promise<Result>): Promise<Result> {
    const run = async (transaction: Transaction) => {
      const [outcome] = await Promise.allSettled([workInTransaction(sendTo(transaction), work)])
      if (outcome.status === 'rejected') await transaction.rollback()
      return outcome
    }
    const { engine, turns } = this.#shared
    const outcome = await turns
      .runExclusive(() => engine.transaction(run))
      .catch((error: unknown) => {
        throw translateDriverError(error)
      })
    if (outcome.status === 'rejected') throw outcome.reason
    return outcome.value
  }

  #alone<Result>(name: string, work: () => Promise<Result>): Promise<Result> {
    const before = this.#shared.exclusive.get(name) ?? Promise.resolve()
    const own = before.then(work)
    const ended: Promise<unknown> = own
      .catch(() => {})
      .then(() => {
        if (this.#shared.exclusive.get(name) === ended) this.#shared.exclusive.delete(name)
      })
    this.#shared.exclusive.set(name, ended)
    return own
  }

  #check(): void {
    if (this.#closed) throw unavailable('closed')
  }
}
