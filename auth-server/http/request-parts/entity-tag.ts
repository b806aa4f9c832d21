/** Entity tags of what is replaced as a whole, so that nobody brings back by an old page what was taken away. */
import { entityTag, tagsIn } from '../../../shared/platform/http/cacheable.ts'
import type { HttpRequest } from '../../../shared/platform/http/request.ts'
import { ProblemError } from '../../../shared/platform/problems/errors.ts'

/** A reply with the entity tag of its body. */
export const tagged = <Body extends object>(body: Body) => ({
  body,
  headers: { etag: entityTag(JSON.stringify(body)) },
})

/** Refuses when `If-Match` does not hold for what is there now. @throws ProblemError `precondition-failed` */
export function requireMatch(request: HttpRequest, now: object): void {
  const sent = request.header('if-match')
  if (sent === undefined || sent.trim() === '*') return
  const etag = entityTag(JSON.stringify(now))
  if (tagsIn(sent).includes(etag)) return
  throw new ProblemError('precondition-failed', 'If-Match does not hold: somebody has changed it since it was read.', {
    headers: { etag },
  })
}
