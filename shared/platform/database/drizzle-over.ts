/** The query builder over whatever sends its statements, by Drizzle's driver for that: `pg-proxy`. */
import { drizzle, type RemoteCallback } from 'drizzle-orm/pg-proxy'
import type { Drizzle } from './database.ts'

/** A statement of the query builder. Its rows are wanted as arrays by the method `all`, and else as objects. */
export type BuiltStatement = Parameters<RemoteCallback>

/** Sends a statement and gives its rows, with times as text. Rejects with the errors of the port. */
export type Send = (...statement: BuiltStatement) => Promise<object[]>

const senders = new WeakMap<Drizzle, Send>()

/** A query builder that rejects with what `send` rejects with. */
export function drizzleOver(send: Send): Drizzle {
  const builder = drizzle((...statement) => send(...statement).then((rows) => ({ rows }), failed))
  senders.set(builder, send)
  return builder
}

/** Drizzle wraps what a driver rejects with in an error that carries the parameters, but not what `rows` throws. */
const failed = (error: unknown) => ({
  get rows(): never {
    throw error
  },
})

/** The query builder with `around` around each of its statements. */
export function drizzleAround(builder: Drizzle, around: (run: () => Promise<object[]>) => Promise<object[]>): Drizzle {
  const send = senders.get(builder)
  return send ? drizzleOver((...statement) => around(() => send(...statement))) : builder
}

/**
 * Runs `work` in a transaction that `send` sends to. A statement that fails makes PostgreSQL undo the transaction: its
 * error is thrown even if `work` ignores it.
 */
export async function workInTransaction<Result>(
  send: Send,
  work: (transaction: Drizzle) => Promise<Result>,
): Promise<Result> {
  const failures: unknown[] = []
  const transaction = drizzleOver((...statement) =>
    send(...statement).catch((error: unknown) => {
      failures.push(error)
      throw error
    }),
  )
  const result = await work(transaction)
  if (failures.length > 0) throw failures[0]
  return result
}
