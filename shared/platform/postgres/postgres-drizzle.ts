/**
 * Drizzle over sessions that are lent. Drizzle's driver is given the three functions of a postgres.js client that it uses,
 * instead of a client: each statement borrows a session, each transaction keeps one.
 */
import { drizzle } from 'drizzle-orm/postgres-js'
import { DatabaseError, type Drizzle } from '../database/database.ts'
import { translateErrors } from '../database/translated-drizzle.ts'
import type { PostgresClient } from './postgres-client.ts'
import type { PostgresSession } from './postgres-session.ts'

/** Lends a session to `work` until it settles. */
export type Lend = <Result>(work: (session: PostgresSession) => Promise<Result>) => Promise<Result>

type Arguments = Parameters<PostgresClient['unsafe']>
type Work<Result> = (client: unknown) => Promise<Result>

/** A query builder whose statements and transactions run on borrowed sessions, and reject with the errors of the port. */
export const drizzleOver = (lend: Lend): Drizzle => {
  const client = {
    options: { parsers: {}, serializers: {} },
    unsafe: (...statement: Arguments) => unsafe(lend, statement),
    begin: <Result>(work: Work<Result>) => lend((session) => transact(session, work)),
  }
  return translateErrors(drizzle(client as unknown as PostgresClient))
}

/** Gives a client of postgres.js the parsers and serializers that Drizzle's driver expects. */
export const adaptToDrizzle = (client: PostgresClient): void => {
  drizzle(client)
}

/** As of postgres.js: a promise of rows as objects, or of rows as arrays once `values()` has been called in the same tick. */
const unsafe = (lend: Lend, statement: Arguments) => {
  let asArrays = false
  const rows = Promise.resolve().then(() =>
    lend((session) =>
      session.run((client) => {
        const query = client.unsafe(...statement)
        return asArrays ? (query.values() as PromiseLike<unknown>) : query
      }),
    ),
  )
  const values = (): typeof rows => {
    asArrays = true
    return rows
  }
  return Object.assign(rows, { values })
}

const command = async (session: PostgresSession, text: string): Promise<string> => {
  const result = await session.run((client) => client.unsafe(text))
  return result.command
}

const transact = async <Result>(session: PostgresSession, work: Work<Result>): Promise<Result> => {
  await command(session, 'begin')
  const result = await orElse(work(transactionClient(session)), async () => {
    // A session that cannot roll back must not be lent again with the transaction open.
    await command(session, 'rollback').catch(() => session.discard())
  })
  if ((await command(session, 'commit')) !== 'COMMIT') {
    throw new DatabaseError(
      '25P02',
      'the transaction was rolled back instead of committed: a statement in it had failed',
    )
  }
  return result
}

const transactionClient = (session: PostgresSession) => {
  let savepoints = 0
  const client = {
    unsafe: (...statement: Arguments) => unsafe((work) => work(session), statement),
    savepoint: async <Result>(work: Work<Result>): Promise<Result> => {
      const name = `s${savepoints++}`
      await command(session, `savepoint ${name}`)
      const result = await orElse(work(client), async () => {
        await command(session, `rollback to ${name}`).catch(() => session.discard())
      })
      await command(session, `release ${name}`)
      return result
    },
  }
  return client
}

/** The result of `work`; when it rejects, `undo` comes first and the reason stays that of `work`. */
const orElse = async <Result>(work: Promise<Result>, undo: () => Promise<void>): Promise<Result> => {
  try {
    return await work
  } catch (error) {
    await undo()
    throw error
  }
}
