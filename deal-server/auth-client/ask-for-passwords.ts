import { sealInternally } from '../../shared/platform/crypto/internal-sealing.ts'
import { ProblemError, Unavailable } from '../../shared/platform/problems/errors.ts'
import type { BasicPorts } from '../../shared/protocol/authentication/basic/basic.ts'
import { questionOf } from '../../shared/protocol/internal-api/exchange.ts'
import { passwordExchange, passwordPurpose } from '../../shared/protocol/internal-api/password.ts'
import type { InternalResponse } from '../../verify/src/auth-client/auth-client.ts'
import type { AskingSystems } from './asking-systems.ts'

/** Milliseconds; longer than for other requests: hashing is slow, and other passwords may be in the queue. */
export const passwordDeadlineMs = 6_000

/** Verifies passwords at the auth server: this server knows none. */
export const askForPasswords =
  ({ authClient, serviceSecret: secret }: AskingSystems): BasicPorts['verify'] =>
  async ({ username, password, clientAddress }, traceContext) => {
    const credential = sealInternally(JSON.stringify({ username, password }), { secret, purpose: passwordPurpose })
    const question = questionOf(passwordExchange, { path: {}, body: { credential, clientAddress } })
    const answer = await authClient.ask({ ...question, traceContext, deadlineMs: passwordDeadlineMs })
    if (answer.status === 200) {
      const user = passwordExchange.responseBody.safeParse(answer.body)
      if (user.success) return user.data
    }
    if (answer.status === 401 && codeOf(answer) === 'invalid-credentials') return undefined
    throw refusalOfAnswer(answer, question.target)
  }

/** The refusal for a response that neither accepts nor rejects the password. */
export function refusalOfAnswer(answer: InternalResponse, target: string): ProblemError | Unavailable {
  const retryAfterSeconds = Math.max(1, Number(answer.headers.get('retry-after')) || 1)
  if (answer.status === 429) {
    return new ProblemError('too-many-attempts', 'Too many failed attempts for this account, or from this address.', {
      retryAfterSeconds,
    })
  }
  const cause = new Error(`/internal${target} answered ${answer.status}`)
  return new Unavailable('auth-server', { cause, retryAfterSeconds })
}

/** The code of a problem document. */
export function codeOf({ body }: InternalResponse): unknown {
  return typeof body === 'object' && body !== null && 'code' in body ? body.code : undefined
}
