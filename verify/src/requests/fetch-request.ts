import { ProblemError } from '../../../shared/platform/problems/errors.ts'
import { bodyBrokenOff, createBodyCollector } from './body-limit.ts'
import type { Received } from './service-request.ts'

/** A request of the Fetch Standard, as it was received. Its body stays unread for others. */
export function receivedByFetch(request: Request, maxBodyBytes: number): Received {
  const { headers } = request
  const header = (name: string) => headers.get(name) ?? undefined
  return {
    method: request.method,
    target: targetOf(request.url),
    header,
    // Where a framework joins the lines of a field, they stay joined.
    headerLines: (name) => [headers.get(name) ?? []].flat(),
    readBody: () => readBody(request, maxBodyBytes),
  }
}

/** Path and query of a URL. */
function targetOf(url: string): string {
  const target = url.replace(/^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i, '').replace(/#.*$/s, '')
  return target.startsWith('/') ? target : `/${target}`
}

/**
 * @throws ProblemError `body-too-large`, `malformed-request` when the client goes away; TypeError when the body
 *   was read before
 */
async function readBody(request: Request, maxBytes: number): Promise<Buffer> {
  if (request.bodyUsed) throw new TypeError('The body was read before the request was verified: verify it first.')
  const collector = createBodyCollector(maxBytes)
  const reader = request.clone().body?.getReader()
  try {
    for (let next = await reader?.read(); next?.value; next = await reader?.read()) collector.add(next.value)
  } catch (error) {
    // Not awaited: it would wait until the other reader of the body ends.
    reader?.cancel().catch(() => undefined)
    throw error instanceof ProblemError ? error : bodyBrokenOff()
  }
  return collector.body()
}
