import { sealInternally } from '../../shared/platform/crypto/internal-sealing.ts'
import { ProblemError } from '../../shared/platform/problems/errors.ts'
import { provenLogin, type RequireRecentProof } from '../../shared/protocol/authentication/recent-proof.ts'
import { questionOf } from '../../shared/protocol/internal-api/exchange.ts'
import { recentProofExchange, recentProofPurpose } from '../../shared/protocol/internal-api/recent-proof.ts'
import { codeOf, passwordDeadlineMs, refusalOfAnswer } from './ask-for-passwords.ts'
import type { AskingSystems } from './asking-systems.ts'

const refusals = {
  'recent-login-required':
    'Send your password in the member "password", or log in again and repeat this within five minutes.',
  'second-factor-login-required':
    'This user has a second factor, or needs one. Send the request with a login that has it, or with password and a ' +
    'right one-time code.',
  'wrong-password': 'The password is not right.',
} as const

const isRefusal = (code: unknown): code is keyof typeof refusals =>
  typeof code === 'string' && Object.hasOwn(refusals, code)

/** Asks the auth server: only it knows when a login began, and the password. */
export const askForRecentProof =
  ({ authClient, serviceSecret: secret }: AskingSystems): RequireRecentProof =>
  async ({ username, userId, scheme, credential }, { password, code: oneTimeCode, clientAddress }) => {
    const loginId = provenLogin({ credential }) ?? null
    const { carriesPassword = false } = credential
    const sent = JSON.stringify({ password, code: oneTimeCode })
    const proofSealed = sealInternally(sent, { secret, purpose: recentProofPurpose })
    const body = { username, userId, scheme, loginId, carriesPassword, proofSealed, clientAddress }
    const question = questionOf(recentProofExchange, { path: {}, body })
    const answer = await authClient.ask({ ...question, deadlineMs: passwordDeadlineMs })
    if (answer.status === 204) return
    const code = codeOf(answer)
    if (answer.status === 403 && isRefusal(code)) throw new ProblemError(code, refusals[code])
    throw refusalOfAnswer(answer, question.target)
  }
