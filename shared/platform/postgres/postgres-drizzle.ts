/** Statements and transactions of the query builder on a session. */
import { DatabaseError, type Drizzle } from '../database/database.ts'
import { type BuiltStatement, type Send, workInTransaction } from '../database/drizzle-over.ts'
import type { PostgresClient } from './postgres-client.ts'
import type { PostgresSession } from './postgres-session.ts'
import type { Pass } from './write-gate.ts'

/** The types `date`, `timestamp` and `timestamptz`. */
const times = [1082, 1114, 1184]
/** The types `json` and `jsonb`. */
const json = [114, 3802]
const asText = (value: unknown) => value

/** Leaves to Drizzle how times are read and written, and how JSON is written. */
export function adaptToDrizzle({ options: { parsers, serializers } }: PostgresClient): void {
  for (const type of times) parsers[type] = asText
  for (const type of [...times, ...json]) serializers[type] = asText
}

/** Sends statements to this session. */
export const sendTo =
  (session: PostgresSession): Send =>
  (...[text, parameters, method]: BuiltStatement) =>
    session.run<object[]>((client) => {
      const statement = client.unsafe(text, parameters)
      return method === 'all' ? statement.values() : statement
    })

/**
 * Runs `work` in one transaction on a session that nobody else uses. Its commit passes `commit` on its way.
 *
 * @throws what `work` throws; the error of a statement that failed, also if `work` ignores it
 */
export const transact = <Result>(
  session: PostgresSession,
  work: (transaction: Drizzle) => Promise<Result>,
  commit: Pass = (run) => run(),
): Promise<Result> => inTransaction(session, () => workInTransaction(sendTo(session), work), commit)

/** The same for work that needs no query builder. */
export async function inTransaction<Result>(
  session: PostgresSession,
  work: () => Promise<Result>,
  commit: Pass,
): Promise<Result> {
  await command(session, 'begin')
  // A session with an open transaction must not be lent again: end it if it cannot roll back.
  const rollBack = () =>
    command(session, 'rollback').then(
      () => undefined,
      () => session.discard(),
    )
  const result = await orElse(work(), rollBack)
  let isSent = false
  const sendCommit = () => {
    isSent = true
    return command(session, 'commit')
  }
  const committed = await orElse(commit(sendCommit), async () => {
    if (!isSent) await rollBack()
  })
  if (committed !== 'COMMIT') throw new DatabaseError('25P02', 'the transaction was rolled back instead of committed')
  return result
}

async function command(session: PostgresSession, text: string): Promise<string> {
  const result = await session.run((client) => client.unsafe(text))
  return result.command
}

/** The result of `work`. If `work` rejects, runs `undo` first and then throws the error of `work`. */
async function orElse<Result>(work: Promise<Result>, undo: () => Promise<void>): Promise<Result> {
  try {
    return await work
  } catch (error) {
    await undo()
    throw error
  }
}
