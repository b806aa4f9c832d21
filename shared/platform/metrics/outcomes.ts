import { ProblemError, Unavailable } from '../problems/errors.ts'

/** The outcome of work that failed, as a label: the code of a refusal, `unavailable`, or `error` for a defect. */
export const outcomeOfError = (error: unknown): string =>
  error instanceof ProblemError ? error.code : error instanceof Unavailable ? 'unavailable' : 'error'
