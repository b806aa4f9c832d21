/** `Keyhold-Seen`: what a caller has seen or written (docs/contract/reading.md#reads-from-replicas). */
import { isPosition, type Position } from '../../../shared/platform/history/position.ts'
import type { HttpRequest } from '../../../shared/platform/http/request.ts'
import { ProblemError } from '../../../shared/platform/problems/errors.ts'
import type { BeginReads, DealReader } from '../../queries/ports.ts'

/**
 * Does the work of a request with the reader for its caller, and says in the response what the caller has seen now. A
 * refusal can show something too. @throws ProblemError `malformed-request`, and as the work does
 */
export type WithReader = <Result>(
  request: HttpRequest,
  work: (reader: DealReader) => Promise<Result>,
) => Promise<Result>

/** Callers bring along up to where they have seen. */
export const readAsSeen =
  (begin: BeginReads): WithReader =>
  async (request, work) => {
    const reads = begin(seenBy(request))
    try {
      return await work(reads.reader)
    } finally {
      const seen = reads.seen()
      if (seen !== undefined) request.addResponseHeader('Keyhold-Seen', seen)
    }
  }

/** Undefined without the field. Several lines are one text, which is no position. */
function seenBy(request: Pick<HttpRequest, 'headerLines'>): Position | undefined {
  const lines = request.headerLines('keyhold-seen')
  if (lines.length === 0) return undefined
  const text = lines.join(', ')
  if (isPosition(text)) return text
  throw new ProblemError(
    'malformed-request',
    'The value of Keyhold-Seen must be one that a response of this server had.',
  )
}
