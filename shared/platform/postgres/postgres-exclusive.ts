import { setTimeout as pause } from 'node:timers/promises'
import type { Drizzle } from '../database/database.ts'
import { unavailable } from '../database/driver-errors.ts'
import { drizzleOver } from './postgres-drizzle.ts'
import type { PostgresSession } from './postgres-session.ts'

const pollIntervalMs = 100

/** A lock and the longest wait for it. */
export interface ExclusiveOptions {
  /** The name of the lock in this database. */
  readonly name: string
  /** The longest wait for another holder, in milliseconds. */
  readonly waitTimeoutMs: number
}

type Work<Result> = (drizzle: Drizzle) => Promise<Result>

/**
 * Takes a session advisory lock on `session` and runs `work` on the same session, without time limits. If the
 * connection ends, the lock and the open transactions of `work` end together. The lock lasts until the session is
 * closed.
 *
 * @throws Unavailable when another session keeps the lock
 */
export async function runExclusively<Result>(
  session: PostgresSession,
  { name, waitTimeoutMs }: ExclusiveOptions,
  work: Work<Result>,
): Promise<Result> {
  // Polls for the lock: a statement that waits for it would exceed the time limits of the session.
  for (let waitedMs = 0; !(await tryLock(session, name)); waitedMs += pollIntervalMs) {
    if (waitedMs >= waitTimeoutMs) throw unavailable(`another session has held "${name}" for ${waitTimeoutMs} ms`)
    await pause(pollIntervalMs)
  }
  return runWithoutTimeLimits(session, work)
}

/** Like `runExclusively`, without waiting. Answers false, and `work` does not run, if another session has the lock. */
export async function runExclusivelyIfFree(session: PostgresSession, name: string, work: Work<void>): Promise<boolean> {
  if (!(await tryLock(session, name))) return false
  await runWithoutTimeLimits(session, work)
  return true
}

async function runWithoutTimeLimits<Result>(session: PostgresSession, work: Work<Result>): Promise<Result> {
  await session.liftTimeLimits()
  return work(drizzleOver((borrow) => borrow(session)))
}

async function tryLock(session: PostgresSession, name: string): Promise<boolean> {
  const text = "select pg_try_advisory_lock(hashtext('keyhold'), hashtext($1)) as locked"
  const [row] = await session.run((client) => client.unsafe<{ locked: boolean }[]>(text, [name]))
  return row?.locked === true
}
