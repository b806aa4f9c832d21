/** Reads the stream of the change feed that an auth server answers with, and checks that one made it. */
import { Unavailable } from '../../../shared/platform/problems/errors.ts'
import {
  type FeedLine,
  feedStreamExchange,
  maxFeedLineLength,
  openFeedLine,
} from '../../../shared/protocol/internal-api/feed-stream.ts'
import { type AnsweredInternalRequest, isInternalResponse } from '../../../shared/protocol/internal-api/responses.ts'
import { CannotSay } from './cannot-say.ts'

/** The request that is answered, and who hears the head of the answer. */
interface Asked extends ProvedRequest {
  readonly onHead: (headers: Headers) => void
}

/**
 * The lines of a stream.
 * @throws Unavailable without a status of 200 that an auth server proved, when the stream breaks off, and for a line
 *   that no auth server wrote for this request
 */
export async function* readFeedLines(
  open: () => Promise<Response>,
  { secret, nonce, onHead, onRefused }: Asked,
): AsyncGenerator<FeedLine> {
  try {
    const { status, headers, body } = await open()
    requireProved({ status, text: '', headers }, { secret, nonce, onRefused })
    if (status !== 200 || !body) throw new Error(`${feedStreamExchange.path} answered ${status}`)
    onHead(headers)
    let index = 0
    for await (const sealed of linesOf(body)) {
      const line = openFeedLine(sealed, { secret, nonce, index })
      if (!line) throw new Error('a line of the feed has no right MAC')
      index += 1
      yield line
    }
  } catch (cause) {
    throw cause instanceof Unavailable ? cause : new Unavailable('auth-server', { cause })
  }
}

/** The lines of a body. @throws Error when it breaks off, and for a line that is too long */
async function* linesOf(body: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder()
  let waiting = ''
  for await (const piece of body) {
    const [first = '', ...others] = decoder.decode(piece, { stream: true }).split('\n')
    waiting += first
    for (const next of others) {
      yield waiting
      waiting = next
    }
    if (waiting.length > maxFeedLineLength) throw new Error('a line of the feed is too long')
  }
}

/** A request whose answer must be proved. */
interface ProvedRequest extends AnsweredInternalRequest {
  /** Called when the credential of the service itself is refused: no proof is possible of that. */
  readonly onRefused?: (() => void) | undefined
}

/**
 * Refuses a response that a proxy, an auth server with another secret or an attacker on the way made.
 * @throws CannotSay, Unavailable
 */
export function requireProved(
  { status, text: body, headers }: { readonly status: number; readonly text: string; readonly headers: Headers },
  request: ProvedRequest,
): void {
  if (isInternalResponse({ status, body, header: (name) => headers.get(name) }, request)) return
  if (status === 401) request.onRefused?.()
  const reason = `/internal answered ${status} without the right MAC`
  // Without its database an auth server knows no service, so it can prove nothing to one.
  if (status === 503 && body.includes('"code":"unavailable"')) throw new CannotSay(reason)
  throw new Unavailable('auth-server', { cause: new Error(reason) })
}
