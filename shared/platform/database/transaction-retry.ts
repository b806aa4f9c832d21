import { setTimeout as pause } from 'node:timers/promises'
import { Conflicted } from './database.ts'

const maxRetries = 3

/**
 * Runs `attempt`, and repeats it up to three times after a short random pause, when PostgreSQL aborted it because of a
 * concurrent transaction: serialization failure (40001) or deadlock (40P01).
 */
export async function retryConflicts<Result>(attempt: () => Promise<Result>): Promise<Result> {
  for (let retry = 0; ; retry++) {
    try {
      return await attempt()
    } catch (error) {
      // Who sets a time limit for locks (55P03) does not want to wait for it again.
      const isConflict = error instanceof Conflicted && error.sqlState !== '55P03'
      if (!isConflict || retry === maxRetries) throw error
      await pause(Math.random() * 10 * 2 ** retry)
    }
  }
}
