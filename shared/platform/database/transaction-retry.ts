import { setTimeout as pause } from 'node:timers/promises'
import { DatabaseError } from './database.ts'

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
      const conflict = error instanceof DatabaseError && (error.sqlState === '40001' || error.sqlState === '40P01')
      if (!conflict || retry === maxRetries) throw error
      await pause(Math.random() * 10 * 2 ** retry)
    }
  }
}
