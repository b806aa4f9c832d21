import { OperatorError } from '../operator-error.ts'
import { Unavailable } from '../problems/errors.ts'
import { DatabaseError } from './database.ts'

/**
 * Runs the work that a server does with its database at its start. All of that work goes through this function: the
 * database may go away at any statement. @throws OperatorError that names the setting, when the database is away or
 * refuses
 */
export async function prepareDatabase<Result>(setting: string, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work()
  } catch (cause) {
    if (!(cause instanceof Unavailable || cause instanceof DatabaseError)) throw cause
    throw new OperatorError(`${setting}: the database cannot be reached or prepared: ${reasonOf(cause)}`, {
      cause,
      exitCode: 1,
    })
  }
}

/**
 * The driver's message about a connection, or PostgreSQL's about a statement: hosts, codes, names, never a value
 * (`driver-errors.ts`).
 */
export function reasonOf(error: Unavailable | DatabaseError): string {
  const { cause } = error
  return cause instanceof Error ? cause.message : error.message
}
