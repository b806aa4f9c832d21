/**
 * The database port: PostgreSQL, either a server reached over the network (`postgres.ts`) or the engine embedded in this process
 * (`embedded.ts`). Both take the same SQL and pass the same suite. Knows nothing of tables.
 */
import type { PgDatabase, PgQueryResultHKT } from 'drizzle-orm/pg-core'

/** What both of Drizzle's drivers are, seen by repositories. */
export type Drizzle = PgDatabase<PgQueryResultHKT>

export interface Database {
  /**
   * Query builder for whatever is not on the hot path. Rejects like `query`, its transactions and savepoints too. What `execute`
   * and writes without `returning` resolve to differs between engines: do not look at it.
   */
  readonly drizzle: Drizzle

  /**
   * Runs one statement, prepared once per text and then reused. Statements of concurrent callers are pipelined.
   * Parameters are text, number, boolean or null, and reach PostgreSQL as text: composite values go as JSON text and are cast in
   * SQL (`$1::text::jsonb`).
   * Columns of type json and jsonb come parsed; other types differ between engines, so hot statements select JSON or text.
   *
   * @throws DatabaseError for whatever PostgreSQL refuses (its SQLSTATE and constraint, never a parameter)
   * @throws Unavailable when the database cannot be reached or does not answer in time; a write may then have taken effect or not
   */
  query<Row extends object>(text: string, parameters?: readonly Parameter[]): Promise<Row[]>

  /**
   * Runs `work` in one transaction on a connection of its own; rolls back when it throws. Serialization failures (40001) and
   * deadlocks (40P01) are retried up to three times, so `work` may run more than once. What `work` throws comes out unchanged.
   * Inside, use `transaction` alone: where one session serves everybody, `query` would wait for ever for the transaction to end.
   */
  transaction<Result>(work: (transaction: Drizzle) => Promise<Result>): Promise<Result>

  /**
   * Runs `work` while no other instance runs work of the same name on this database: migrations, maintenance. It gets a session
   * of its own without time limits; transactions are its own to open, and nothing is retried.
   *
   * @throws Unavailable when another instance stays at it for longer than `waitTimeoutMs` milliseconds (60,000)
   */
  exclusively<Result>(
    name: string,
    work: (drizzle: Drizzle) => Promise<Result>,
    options?: { readonly waitTimeoutMs?: number },
  ): Promise<Result>

  /**
   * Like `exclusively` when no instance is at work of that name; otherwise answers false at once, and `work` does not run.
   *
   * @throws Unavailable when the database cannot be reached
   */
  exclusivelyIfFree(name: string, work: (drizzle: Drizzle) => Promise<void>): Promise<boolean>

  /** Resolves when the database answers, rejects with Unavailable otherwise. */
  ping(): Promise<void>

  /** False where one session serves everybody (the embedded engine): a second transaction waits for the first. */
  readonly concurrentSessions: boolean

  /** Waits for statements under way, then lets go of the connections. */
  close(): Promise<void>
}

/** What a statement takes for `$1`, `$2` and so on, for a column of any type. */
export type Parameter = string | number | boolean | null

/** What PostgreSQL refused, without the parameters that Drizzle's and the drivers' own errors carry. */
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

/** True when `error` is a violation of the unique or primary-key constraint of this name. */
export const violates = (error: unknown, constraint: string): boolean =>
  error instanceof DatabaseError && error.sqlState === '23505' && error.constraint === constraint
