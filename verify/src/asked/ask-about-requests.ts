/**
 * Asks the auth server about one request of a caller, whose credential only the auth server can check. The answer is
 * good for this request at this service.
 */
import { Permits } from '../../../shared/platform/concurrency/permits.ts'
import { sealInternally } from '../../../shared/platform/crypto/internal-sealing.ts'
import { ProblemError, Unavailable } from '../../../shared/platform/problems/errors.ts'
import type { Traced } from '../../../shared/platform/trace-context.ts'
import { questionOf } from '../../../shared/protocol/internal-api/exchange.ts'
import {
  type ReceivedRequest,
  type RequestVerdict,
  verifyRequestExchange,
  verifyRequestPurpose,
} from '../../../shared/protocol/internal-api/verify-request.ts'
import type { FollowingSystems } from '../auth-client/auth-client.ts'

/** The answer about a request that is accepted. */
export type Accepted = Extract<RequestVerdict, { accepted: unknown }>['accepted']

/**
 * Asks about a request.
 * @throws ProblemError with the code, the members and the header fields of the refusal; Unavailable
 */
export type AskAboutRequest = (request: ReceivedRequest, traceContext?: Traced) => Promise<Accepted>

/** Milliseconds; longer than for other questions: hashing is slow, and other passwords may be in the queue. */
const deadlineMs = 6_000

/** The largest number of questions at once, and how long one waits for its turn, in milliseconds. */
const maxAtOnce = 256
const longestTurnMs = 3_000

type ReceivedRefusal = Extract<RequestVerdict, { refusal: unknown }>['refusal']

/** A refusal by the auth server. */
export class AskedRefusal extends ProblemError {
  /** As the problem catalogue of the auth server has it. */
  override readonly status: number
  readonly #received: ReceivedRefusal

  constructor(received: ReceivedRefusal) {
    const { status, code, detail, members, headers } = received
    super(code, detail, { members, headers })
    this.status = status
    this.#received = received
  }

  /** The same without the challenge: for a request whose client is not known to the auth server. */
  withoutChallenge(): AskedRefusal {
    const { 'www-authenticate': _challenge, ...headers } = this.#received.headers
    return new AskedRefusal({ ...this.#received, headers })
  }
}

/** Makes the questions. */
export function askAboutRequests({ authClient, serviceSecret: secret }: FollowingSystems): AskAboutRequest {
  const permits = new Permits(maxAtOnce)
  const wait = { timeoutMs: longestTurnMs, onTimeout: () => new Unavailable('auth-server') }
  return (request, traceContext) =>
    permits.run(async () => {
      const sealed = sealInternally(JSON.stringify(request), { secret, purpose: verifyRequestPurpose })
      const question = questionOf(verifyRequestExchange, { path: {}, body: { sealed } })
      const { status, body } = await authClient.ask({ ...question, traceContext, deadlineMs })
      const verdict = status === 200 ? verifyRequestExchange.responseBody.safeParse(body).data : undefined
      if (!verdict) throw new Unavailable('auth-server', { cause: new Error(`/internal/verify-request: ${status}`) })
      if ('refusal' in verdict) throw new AskedRefusal(verdict.refusal)
      return verdict.accepted
    }, wait)
}
