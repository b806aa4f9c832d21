import { setTimeout as pause } from 'node:timers/promises'
import { DatabaseError } from './database.ts'

const RETRIES = 3

/**
 * Runs `attempt`, and again up to three times, after a short random pause, when PostgreSQL gave it up for the sake of a
 * concurrent transaction: serialization failure (40001) or deadlock (40P01).
 */
export const retryConflicts = async <Result>(attempt: () => Promise<Result>): Promise<Result> => {
  for (let retry = 0; ; retry++) {
    try {
      return await attempt()
    } catch (error) {
      const conflict = error instanceof DatabaseError && (error.sqlState === '40001' || error.sqlState === '40P01')
      if (!conflict || retry === RETRIES) throw error
      await pause(Math.random() * 10 * 2 ** retry)
    }
  }
}
