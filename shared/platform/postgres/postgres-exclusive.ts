/**
 * Work that one instance at a time does. The locks belong to transactions and not to sessions: behind a pooler, a lock
 * of a session would stay behind in a connection that others use.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { sql } from 'drizzle-orm'
import type { Drizzle } from '../database/database.ts'
import { unavailable } from '../database/driver-errors.ts'
import { drizzleOver } from '../database/drizzle-over.ts'
import { inTransaction, sendTo, transact } from './postgres-drizzle.ts'
import type { PostgresSession } from './postgres-session.ts'
import type { Pass } from './write-gate.ts'

const pollIntervalMs = 100

interface LockOptions {
  /** The name of the lock in this database. */
  readonly name: string
  /** What commits of the work pass. */
  readonly commit: Pass
}

interface ExclusiveOptions extends LockOptions {
  /** The longest wait for another holder, in milliseconds. */
  readonly waitTimeoutMs: number
}

type Work<Result> = (drizzle: Drizzle) => Promise<Result>

/**
 * Takes the lock and runs `work` in one transaction without time limits. If the connection ends, the lock and what
 * `work` did end together.
 *
 * @throws Unavailable when another session keeps the lock
 */
export async function runExclusively<Result>(
  session: PostgresSession,
  { name, waitTimeoutMs, commit }: ExclusiveOptions,
  work: Work<Result>,
): Promise<Result> {
  // Polls for the lock: a statement that waits for it would exceed the time limits of the session.
  for (let waitedMs = 0; ; waitedMs += pollIntervalMs) {
    const done = await withLock(session, { name, commit }, async (drizzle) => ({ result: await work(drizzle) }))
    if (done !== undefined) return done.result
    if (waitedMs >= waitTimeoutMs) throw unavailable(`another session has held "${name}" for ${waitTimeoutMs} ms`)
    await pause(pollIntervalMs)
  }
}

/** The session that holds a lock, and the one that the work uses. */
export interface ExclusiveSessions {
  readonly lock: PostgresSession
  readonly statements: PostgresSession
}

/**
 * Like `runExclusively`, without waiting: answers false, and `work` does not run, if another session has the lock. Each
 * statement of `work` is a transaction of its own, without time limits: a long one would hold back live events and the
 * cleaning of tables. The transaction with the lock writes nothing. When its connection ends, `work` fails.
 */
export async function runExclusivelyIfFree(
  { lock, statements }: ExclusiveSessions,
  { name, commit }: LockOptions,
  work: Work<void>,
): Promise<boolean> {
  const drizzle = drizzleOver(async (...statement) => {
    if (lock.lost) throw unavailable(`the connection with the lock "${name}" was closed`)
    const run = async () => {
      await statements.liftTimeLimits()
      return sendTo(statements)(...statement)
    }
    return inTransaction(statements, run, commit)
  })
  // The commit of the lock itself writes nothing, and waits for nobody.
  const done = await withLock(lock, { name, commit: (run) => run() }, async () => {
    await work(drizzle)
    return true
  })
  return done === true
}

/** Undefined, and `work` does not run, if another session has the lock. */
const withLock = <Result>(
  session: PostgresSession,
  { name, commit }: LockOptions,
  work: Work<Result>,
): Promise<Result | undefined> =>
  transact(
    session,
    async (transaction) => {
      if (!(await tryLock(transaction, name))) return undefined
      await session.liftTimeLimits()
      return work(transaction)
    },
    commit,
  )

async function tryLock(transaction: Drizzle, name: string): Promise<boolean> {
  const key = sql`hashtext('keyhold'), hashtext(${name})`
  const [row] = await transaction.execute(sql`select pg_try_advisory_xact_lock(${key}) as locked`)
  return row?.locked === true
}
