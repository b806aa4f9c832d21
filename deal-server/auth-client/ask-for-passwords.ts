import { sealInternally } from '../../shared/platform/crypto/internal-sealing.ts'
import { ProblemError, Unavailable } from '../../shared/platform/problems/errors.ts'
import type { BasicPorts } from '../../shared/protocol/authentication/basic/basic.ts'
import { questionOf } from '../../shared/protocol/internal-api/exchange.ts'
import { passwordExchange, passwordPurpose } from '../../shared/protocol/internal-api/password.ts'
import type { AuthClient, InternalResponse } from './auth-client.ts'

export interface AskForPasswordsPorts {
  readonly authClient: Pick<AuthClient, 'ask'>
  /** SERVICE_SECRET: passwords travel sealed under it. */
  readonly serviceSecret: string
}

/** Hashing takes its time, and others may be first. */
const deadlineMs = 6_000

/** Lets the auth server verify passwords: this server knows none. */
export const askForPasswords =
  ({ authClient, serviceSecret: secret }: AskForPasswordsPorts): BasicPorts['verify'] =>
  async ({ username, password, clientAddress }, traceContext) => {
    const credential = sealInternally(JSON.stringify({ username, password }), { secret, purpose: passwordPurpose })
    const question = questionOf(passwordExchange, { path: {}, body: { credential, clientAddress } })
    const answer = await authClient.ask({ ...question, traceContext, deadlineMs })
    if (answer.status === 200) {
      const user = passwordExchange.responseBody.safeParse(answer.body)
      if (user.success) return user.data
    }
    if (answer.status === 401 && codeOf(answer) === 'invalid-credentials') return undefined
    throw refusalOf(answer)
  }

/** What the auth server refused for a reason of its own goes on to the caller. */
function refusalOf(answer: InternalResponse): ProblemError | Unavailable {
  const retryAfterSeconds = Math.max(1, Number(answer.headers.get('retry-after')) || 1)
  if (answer.status === 429) {
    return new ProblemError('too-many-attempts', 'Too many failed attempts for this account, or from this address.', {
      retryAfterSeconds,
    })
  }
  const cause = new Error(`/internal/verify-password answered ${answer.status}`)
  return new Unavailable('auth-server', { cause, retryAfterSeconds })
}

function codeOf({ body }: InternalResponse): unknown {
  return typeof body === 'object' && body !== null && 'code' in body ? body.code : undefined
}
