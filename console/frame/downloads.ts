/** Files that pages write piece by piece: how many of them may be under way. */
import type { HttpResponse } from '../../shared/platform/http/response.ts'
import { UserLimits, type UserLimitsOptions } from '../../shared/platform/http/user-limits.ts'
import { ProblemError } from '../../shared/platform/problems/errors.ts'
import type { RouteTable } from './api.ts'
import type { PageResult, SignedInVisit } from './console.tsx'

type Reading = Pick<SignedInVisit<RouteTable>, 'request' | 'caller'>

/** Answers with a file. @throws ProblemError `too-many-streams` */
export type Download = (visit: Reading, make: () => Promise<HttpResponse>) => Promise<PageResult>

/** Counts the downloads of one process. */
export function createDownloads(options: UserLimitsOptions): Download {
  const limits = new UserLimits(options, tooMany)
  return async function downloadOnce({ request, caller }, make) {
    // A response to HEAD has no body, so nothing would release its count.
    if (request.method === 'HEAD') return { response: { ...(await make()), body: null } }
    return { response: await limits.answer(caller.userId, make) }
  }
}

const tooMany = (own: number | undefined) =>
  new ProblemError(
    'too-many-streams',
    own === undefined
      ? 'The server has as many downloads under way as it may have.'
      : `You have ${own} downloads under way here; wait for one, or end it.`,
    { retryAfterSeconds: 10 },
  )
