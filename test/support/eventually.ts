import { vi } from 'vitest'

/**
 * Repeats what fails until it succeeds, for 20 s: for tests that wait for something, and do not judge how long it
 * takes.
 */
export const eventually = <Result>(attempt: () => Result | Promise<Result>): Promise<Result> =>
  vi.waitFor(attempt, { timeout: 20_000, interval: 20 })
