import { OperatorError } from '../operator-error.ts'
import { Unavailable } from '../problems/errors.ts'
import { DatabaseError } from './database.ts'

/**
 * Does what must be done with a database before a server can begin. All of a start goes through it: a database may go away at any
 * statement. @throws OperatorError that names its setting, when it is away or refuses
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

/** What a driver said of a connection, or PostgreSQL of a statement: hosts, codes and names, never a value (`driver-errors.ts`). */
export function reasonOf(error: Unavailable | DatabaseError): string {
  const { cause } = error
  return cause instanceof Error ? cause.message : error.message
}
