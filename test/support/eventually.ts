import { vi } from 'vitest'
import { pollMs } from './campaign.ts'

/** Repeats what fails until it succeeds: for tests that wait for something, and do not judge how long it takes. */
export const eventually = <Result>(attempt: () => Result | Promise<Result>): Promise<Result> =>
  vi.waitFor(attempt, { timeout: pollMs, interval: 20 })
