import { setTimeout as pause } from 'node:timers/promises'
import type { Drizzle } from '../database/database.ts'
import { unavailable } from '../database/driver-errors.ts'
import { drizzleOver } from './postgres-drizzle.ts'
import type { PostgresSession } from './postgres-session.ts'

const POLL_INTERVAL_MS = 100

export interface ExclusiveOptions {
  /** The name of the lock, in this database. */
  readonly name: string
  /** How long to wait for whoever holds it, in milliseconds. */
  readonly waitTimeoutMs: number
}

type Work<Result> = (drizzle: Drizzle) => Promise<Result>

/**
 * Takes a session advisory lock on `session` and runs `work` on that same session, free of time limits: should the connection
 * end, the lock and what `work` had open end together. The lock lasts until the session is closed.
 *
 * @throws Unavailable when the lock stays taken
 */
export const runExclusively = async <Result>(
  session: PostgresSession,
  { name, waitTimeoutMs }: ExclusiveOptions,
  work: Work<Result>,
): Promise<Result> => {
  // Asked for again and again instead of waited for: a statement that waits would meet the time limits of the session.
  for (let waitedMs = 0; !(await tryLock(session, name)); waitedMs += POLL_INTERVAL_MS) {
    if (waitedMs >= waitTimeoutMs) throw unavailable(`somebody else has held "${name}" for ${waitTimeoutMs} ms`)
    await pause(POLL_INTERVAL_MS)
  }
  return runFree(session, work)
}

/** The same without waiting: false, and `work` does not run, when the lock is taken. */
export const runExclusivelyIfFree = async (
  session: PostgresSession,
  name: string,
  work: Work<void>,
): Promise<boolean> => {
  if (!(await tryLock(session, name))) return false
  await runFree(session, work)
  return true
}

const runFree = async <Result>(session: PostgresSession, work: Work<Result>): Promise<Result> => {
  await session.liftTimeLimits()
  return work(drizzleOver((borrow) => borrow(session)))
}

const tryLock = async (session: PostgresSession, name: string): Promise<boolean> => {
  const text = "select pg_try_advisory_lock(hashtext('keyhold'), hashtext($1)) as locked"
  const [row] = await session.run((client) => client.unsafe<{ locked: boolean }[]>(text, [name]))
  return row?.locked === true
}
