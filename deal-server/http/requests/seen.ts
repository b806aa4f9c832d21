/** What a caller has seen or written, as a token that goes to and fro (docs/contract.md#reads-from-replicas). */
import type { HttpRequest } from '../../../shared/platform/http/request.ts'

/** The field of requests and responses. */
export const seenHeader = 'Keyhold-Seen'

/** The token of a request; undefined without one. Several lines are one text, which is no token. */
export function seenBy(request: Pick<HttpRequest, 'headerLines'>): string | undefined {
  const lines = request.headerLines('keyhold-seen')
  return lines.length === 0 ? undefined : lines.join(', ')
}
