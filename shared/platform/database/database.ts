/**
 * The database port: PostgreSQL, either a server reached over the network (`postgres.ts`) or the engine embedded in
 * this process (`embedded.ts`). Both take the same SQL and pass the same suite. Knows nothing of tables.
 */
import type { SQL } from 'drizzle-orm'
import type { PgRemoteDatabase } from 'drizzle-orm/pg-proxy'
import { Unavailable } from '../problems/errors.ts'

/** Drizzle as repositories see it. Transactions are those of the port. */
export type Drizzle = Omit<PgRemoteDatabase, 'transaction'>

/** A PostgreSQL database. */
export interface Database {
  /** Query builder for reads that are not on the hot path. It rejects like `query`. */
  readonly drizzle: Drizzle

  /**
   * Runs one statement that reads. Each text is prepared once and then reused. Statements of concurrent callers are
   * pipelined. Parameters are text, number, boolean or null, and reach PostgreSQL as text (`statement.ts` gives them
   * names and types). Columns of type json and jsonb come parsed. Other types differ between engines, so hot statements
   * select JSON or text.
   *
   * @throws DatabaseError when PostgreSQL refuses the statement (with SQLSTATE and constraint, never with a parameter)
   * @throws Unavailable when the database, or a node of it, cannot be reached or does not answer in time
   */
  query<Row extends object>(text: string, parameters?: readonly Parameter[]): Promise<Row[]>

  /**
   * Like `query` for several statements that one caller waits for: they leave together, on one session. Gives the rows
   * of each, none where a statement is undefined. Each has a snapshot of its own.
   *
   * @throws as `query`, the first error
   */
  queryAll<Rows extends readonly object[]>(statements: StatementsFor<Rows>): Promise<RowsOfEach<Rows>>

  /**
   * Runs one statement that may look at many rows: it is planned for its own parameters, on a session that no hot
   * statement waits for. It selects text and json only. PostgreSQL ends it after `timeoutMs` milliseconds; the embedded
   * engine cannot.
   *
   * @throws DatabaseError as `query`
   * @throws TookTooLong, which is Unavailable, after that time; Unavailable as `query`
   */
  readWithin<Row extends object>(statement: SQL, timeoutMs: number): Promise<Row[]>

  /**
   * Like `query`, for a statement that writes. Writes have sessions of their own, one statement at a time on each, so
   * that reads go on while commits wait for a standby. It is repeated as a `transaction` is.
   *
   * @throws DatabaseError as `query`
   * @throws Unavailable when the database cannot be reached, does not answer in time, or cannot finish writes; the
   * write may have taken effect or not
   */
  write<Row extends object>(text: string, parameters?: readonly Parameter[]): Promise<Row[]>

  /**
   * Checks whether writes can be finished, as far as it is known.
   *
   * @throws Unavailable `database-writes` while commits wait for a standby that does not confirm them: `write` and
   * `transaction` then reject at once, until a small write succeeds
   */
  checkWrites(): void

  /**
   * Runs `work` in one transaction on a connection of its own, and rolls back when `work` throws. Serialization
   * failures (40001) and deadlocks (40P01) are retried up to three times, so `work` may run more than once. Errors of
   * `work` are thrown unchanged. Use only `transaction` inside `work`: on an engine with a single session, `query`
   * would wait for the transaction for ever.
   */
  transaction<Result>(work: (transaction: Drizzle) => Promise<Result>): Promise<Result>

  /**
   * Runs `work` while no other instance runs work of the same name on this database: migrations. All of `work` is one
   * transaction, without time limits. Nothing is retried.
   *
   * @throws Unavailable when another instance takes longer than `waitTimeoutMs` milliseconds (60,000)
   */
  exclusively<Result>(
    name: string,
    work: (drizzle: Drizzle) => Promise<Result>,
    options?: { readonly waitTimeoutMs?: number },
  ): Promise<Result>

  /**
   * For maintenance: runs `work` if no other instance runs work of this name. Otherwise answers false at once, and
   * `work` does not run. Each statement of `work` is a transaction of its own, without time limits.
   *
   * @throws Unavailable when the database cannot be reached
   */
  exclusivelyIfFree(name: string, work: (drizzle: Drizzle) => Promise<void>): Promise<boolean>

  /** Resolves when the database answers. @throws Unavailable when it does not */
  ping(): Promise<void>

  /** Resolves when transactions work on the way to the database. @throws Unavailable that says what to set otherwise */
  requireSuitable(): Promise<void>

  /** False on an engine with a single session (the embedded one): a second transaction waits for the first. */
  readonly concurrentSessions: boolean

  /** Waits for running statements, then closes the connections. */
  close(): Promise<void>
}

/** The text of a statement and its parameters. */
export type Statement = readonly [text: string, parameters: readonly Parameter[]]

/** A statement, or none, for each type of rows. */
export type StatementsFor<Rows extends readonly object[]> = {
  readonly [Index in keyof Rows]: Statement | undefined
}

/** The rows of each statement. */
export type RowsOfEach<Rows extends readonly object[]> = { readonly [Index in keyof Rows]: Rows[Index][] }

/** A value of a parameter, for a column of any type. */
export type Parameter = string | number | boolean | null

/**
 * A parameter in the text form of PostgreSQL, the same for every engine.
 *
 * @throws TypeError for a value of another type: the drivers would report it for another statement of the same
 * connection
 */
export function parameterText(parameter: Parameter, index: number): string | null {
  if (parameter === null || typeof parameter === 'string') return parameter
  if (typeof parameter === 'number' || typeof parameter === 'boolean') return String(parameter)
  throw new TypeError(`parameter ${index + 1} of the statement is of type ${typeof parameter}`)
}

/** A statement that PostgreSQL refused, without the parameters that the errors of Drizzle and of the drivers carry. */
export class DatabaseError extends Error {
  override readonly name = 'DatabaseError'
  /** SQLSTATE, five characters, such as `23505` for a unique violation. */
  readonly sqlState: string
  /** The name of the violated constraint, where there is one. */
  readonly constraint: string | undefined

  constructor(sqlState: string, message: string, constraint?: string) {
    super(message)
    this.sqlState = sqlState
    this.constraint = constraint
  }
}

/** A statement that exceeded its time limit. The database itself answers. */
export class TookTooLong extends Unavailable {}

/** A statement that PostgreSQL undid because of what others did at the same time. The same again may succeed. */
export class Conflicted extends Unavailable {
  /** `40001` serialization failure, `40P01` deadlock, `55P03` a lock was not free in time. */
  readonly sqlState: string

  constructor(sqlState: string, message: string) {
    super('database', { cause: new Error(`${sqlState} ${message}`) })
    this.sqlState = sqlState
  }
}

/** The dependency that `Unavailable` and `/readyz` name while the database can be read, but finishes no write. */
export const databaseWrites = 'database-writes'

/** True when `error` says that the database can be read, but finishes no write. */
export const isUnwritable = (error: unknown): boolean =>
  error instanceof Unavailable && error.dependency === databaseWrites

/** True when `error` is a violation of a unique or primary-key constraint: a row with these values exists. */
export const isDuplicate = (error: unknown): error is DatabaseError =>
  error instanceof DatabaseError && error.sqlState === '23505'

/**
 * True when `error` is a violation of the unique or primary-key constraint of this name. In a table with partitions
 * each of them has names of its own.
 */
export const violates = (error: unknown, constraint: string): boolean =>
  isDuplicate(error) && error.constraint === constraint
