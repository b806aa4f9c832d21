/**
 * Drizzle on lent sessions. The driver of Drizzle gets an object with the three functions of a postgres.js client that
 * it uses, instead of a client. Each statement borrows a session; each transaction keeps one.
 * `../database/drizzle-internals.ts` explains the pinned version.
 */
import { drizzle } from 'drizzle-orm/postgres-js'
import { DatabaseError, type Drizzle } from '../database/database.ts'
import { translateErrors } from '../database/translated-drizzle.ts'
import type { PostgresClient } from './postgres-client.ts'
import type { PostgresSession } from './postgres-session.ts'
import type { Pass } from './write-gate.ts'

/** Lends a session to `work` until it settles. */
export type Lend = <Result>(work: (session: PostgresSession) => Promise<Result>) => Promise<Result>

type Arguments = Parameters<PostgresClient['unsafe']>
type Work<Result> = (client: unknown) => Promise<Result>

/**
 * A query builder whose statements and transactions run on borrowed sessions and reject with the errors of the port.
 * Each commit of a transaction passes `commit` on its way.
 */
export function drizzleOver(lend: Lend, commit: Pass = free): Drizzle {
  return drizzleWith({
    unsafe: (...statement) => unsafe(lend, statement),
    begin: (work) => lend((session) => transact(session, work, commit)),
  })
}

/** How `drizzleInTransactions` frames a transaction. */
export interface TransactionFrame {
  /** Begins each transaction: settings of its own. */
  begin(session: PostgresSession): Promise<void>
  readonly commit: Pass
}

/** The same, but each statement is a transaction, too. */
export function drizzleInTransactions(lend: Lend, { begin, commit }: TransactionFrame): Drizzle {
  const inTransaction = <Result>(work: (client: unknown, session: PostgresSession) => Promise<Result>) =>
    lend((session) => {
      const framed = async (client: unknown) => {
        await begin(session)
        return work(client, session)
      }
      return transact(session, framed, commit)
    })
  return drizzleWith({
    unsafe: (...statement) => unsafe((work) => inTransaction((_, session) => work(session)), statement),
    begin: (work) => inTransaction(work),
  })
}

/** The functions of a client that Drizzle's driver calls. */
interface DriverFunctions {
  readonly unsafe: (...statement: Arguments) => PromiseLike<unknown>
  readonly begin: <Result>(work: Work<Result>) => Promise<Result>
}

function drizzleWith(functions: DriverFunctions): Drizzle {
  const client = { options: { parsers: {}, serializers: {} }, ...functions }
  return translateErrors(drizzle(client as unknown as PostgresClient))
}

const free: Pass = (run) => run()

/** Gives a client of postgres.js the parsers and serializers that Drizzle's driver expects. */
export function adaptToDrizzle(client: PostgresClient): void {
  drizzle(client)
}

/**
 * Like `unsafe` of postgres.js: a promise of rows as objects, or of rows as arrays if `values()` is called in the same
 * tick.
 */
function unsafe(lend: Lend, statement: Arguments) {
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

async function command(session: PostgresSession, text: string): Promise<string> {
  const result = await session.run((client) => client.unsafe(text))
  return result.command
}

async function transact<Result>(session: PostgresSession, work: Work<Result>, commit: Pass): Promise<Result> {
  await command(session, 'begin')
  // A session with an open transaction must not be lent again: end it if it cannot roll back.
  const rollBack = () =>
    command(session, 'rollback').then(
      () => undefined,
      () => session.discard(),
    )
  const result = await orElse(work(transactionClient(session)), rollBack)
  let isSent = false
  const sendCommit = () => {
    isSent = true
    return command(session, 'commit')
  }
  const committed = await orElse(commit(sendCommit), async () => {
    if (!isSent) await rollBack()
  })
  if (committed !== 'COMMIT') {
    throw new DatabaseError(
      '25P02',
      'the transaction was rolled back instead of committed: a statement in it had failed',
    )
  }
  return result
}

function transactionClient(session: PostgresSession) {
  let savepoints = 0
  const client = {
    unsafe: (...statement: Arguments) => unsafe((work) => work(session), statement),
    /** Drizzle's migrations begin a transaction of their own, also in one. */
    begin: <Result>(work: Work<Result>): Promise<Result> => client.savepoint(work),
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

/** The result of `work`. If `work` rejects, runs `undo` first and then throws the error of `work`. */
async function orElse<Result>(work: Promise<Result>, undo: () => Promise<void>): Promise<Result> {
  try {
    return await work
  } catch (error) {
    await undo()
    throw error
  }
}
