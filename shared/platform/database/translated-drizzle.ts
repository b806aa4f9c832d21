/**
 * Makes a Drizzle database reject with the errors of the port. It is done once, where the database is opened, in the
 * two functions that every call passes: one prepares a statement, the other runs a transaction. So no repository can
 * forget it.
 */
import { DrizzleQueryError } from 'drizzle-orm'
import type { PgPreparedQuery, PgTransactionConfig, PreparedQueryConfig } from 'drizzle-orm/pg-core'
import { DatabaseError, type Drizzle } from './database.ts'
import { translateDriverError } from './driver-errors.ts'
import { sessionOf } from './drizzle-internals.ts'

type Transaction = Parameters<Parameters<Drizzle['transaction']>[0]>[0]
type OnFailure = (error: unknown) => void

const translated = new WeakSet<object>()

/** Makes `database`, its transactions and their savepoints reject with translated errors. Returns the same object. */
export function translateErrors(database: Drizzle): Drizzle {
  translateStatements(sessionOf(database))
  translateTransaction(database)
  return database
}

function translateStatements(session: Drizzle['_']['session'], onFailure: OnFailure = () => {}): void {
  if (translated.has(session)) return
  translated.add(session)
  const prepareQuery = session.prepareQuery.bind(session)
  session.prepareQuery = <T extends PreparedQueryConfig>(...statement: Parameters<typeof prepareQuery>) =>
    translateStatement(prepareQuery<T>(...statement), onFailure)
}

function translateStatement<T extends PreparedQueryConfig>(
  prepared: PgPreparedQuery<T>,
  onFailure: OnFailure,
): PgPreparedQuery<T> {
  const execute = prepared.execute.bind(prepared)
  prepared.execute = async (placeholders) => {
    try {
      return await execute(placeholders)
    } catch (error) {
      // Drizzle wraps all errors of its driver. Other errors come from the mapping of a column.
      const failure = error instanceof DrizzleQueryError ? translateDriverError(error) : error
      onFailure(failure)
      throw failure
    }
  }
  return prepared
}

function translateTransaction(database: Drizzle): void {
  const transact = database.transaction.bind(database)
  database.transaction = async <Result>(
    work: (transaction: Transaction) => Promise<Result>,
    config?: PgTransactionConfig,
  ): Promise<Result> => {
    const outcome: Outcome = {}
    try {
      return await transact((transaction) => attempt(transaction, work, outcome), config)
    } catch (error) {
      throw failureOf(error, outcome)
    }
  }
}

/** The errors of a transaction that Drizzle has rejected. */
interface Outcome {
  /** The error of the callback, which is thrown unchanged. */
  thrown?: unknown
  /** The first failure of a statement. It made PostgreSQL abort the transaction. */
  failure?: unknown
}

async function attempt<Result>(
  transaction: Transaction,
  work: (transaction: Transaction) => Promise<Result>,
  outcome: Outcome,
): Promise<Result> {
  translateStatements(sessionOf(transaction), (failure) => {
    outcome.failure ??= failure
  })
  translateTransaction(transaction)
  try {
    return await work(transaction)
  } catch (error) {
    outcome.thrown = error
    throw error
  }
}

function failureOf(error: unknown, outcome: Outcome): unknown {
  if ('thrown' in outcome && error === outcome.thrown) return error
  const own = translateDriverError(error)
  const rolledBackInstead = own instanceof DatabaseError && own.sqlState === '25P02'
  return rolledBackInstead ? (outcome.failure ?? own) : own
}
