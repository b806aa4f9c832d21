/** Refusals inside of a response that has begun: the problem documents of single requests, without header fields. */
import type { Log } from '../../../shared/platform/log/log.ts'
import { ProblemError, Unavailable } from '../../../shared/platform/problems/errors.ts'
import {
  occurrenceOf,
  occurrenceOfUnavailable,
  type ProblemDocument,
  type ProblemTable,
  problemDocument,
} from '../../../shared/platform/problems/problem-document.ts'

interface LineProblem {
  readonly problem: ProblemDocument
  /** What `Retry-After` would say, in seconds. */
  readonly retryAfter: number | undefined
}

/** Makes the refusal of any error. It does not throw. */
export type DescribeFailure = (error: unknown, requestId: string) => LineProblem

interface Options {
  readonly problems: ProblemTable
  readonly origin: string
  /** The enabled schemes: every 401 names them. */
  readonly schemes: readonly string[]
  readonly log: Log
}

const internalError = {
  code: 'internal-error',
  detail: 'The request could not be carried out. It has been logged.',
}

/** Makes the refusals of lines. */
export function createDescribeFailure({ problems, origin, schemes, log }: Options): DescribeFailure {
  return (error, requestId) => {
    const document = (occurrence: Parameters<typeof problemDocument>[1]) =>
      problemDocument(problems, occurrence, { origin, requestId })
    if (error instanceof ProblemError) {
      if (error.cause !== undefined) log.info({ requestId, err: error }, error.code)
      const problem = document(occurrenceOf(error))
      return {
        problem: problem.status === 401 ? { ...problem, schemes } : problem,
        retryAfter: error.retryAfterSeconds,
      }
    }
    if (error instanceof Unavailable) {
      log.warn({ requestId, err: error }, error.message)
      return { problem: document(occurrenceOfUnavailable(error)), retryAfter: error.retryAfterSeconds }
    }
    log.error({ requestId, err: error }, 'A command of a batch failed because of an error in the server')
    return { problem: document(internalError), retryAfter: undefined }
  }
}
