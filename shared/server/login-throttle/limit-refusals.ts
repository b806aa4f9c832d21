/**
 * Reports refusals by the throttle of credentials that come with each request. They belong in the audit log of the auth
 * server; deal servers send theirs to it (`internal-api/limit-refusals.ts`).
 */
import { ProblemError } from '../../platform/problems/errors.ts'
import type { Attempt, LoginThrottle } from '../../protocol/authentication/login-throttle.ts'
import type { LimitRefusal } from '../../protocol/internal-api/limit-refusals.ts'
import { isUsername } from '../../protocol/principal/record.ts'

/** Called with each refusal before the response is sent. @throws Unavailable */
export type NoteRefusal = (refusal: LimitRefusal) => Promise<void> | void

/** The same throttle; it reports each refusal to `note`. */
export function notingRefusals(
  loginThrottle: LoginThrottle,
  scheme: LimitRefusal['scheme'],
  note: NoteRefusal,
): LoginThrottle {
  const noted = async <Result>(attempt: Attempt, counted: Promise<Result>): Promise<Result> => {
    try {
      return await counted
    } catch (error) {
      if (error instanceof ProblemError && error.code === 'too-many-attempts') await note(refusalOf(attempt, scheme))
      throw error
    }
  }
  return {
    attempt: (attempt, check) => noted(attempt, loginThrottle.attempt(attempt, check)),
    judge: (attempt, isRight) => {
      const judged = loginThrottle.judge(attempt, isRight)
      return judged && noted(attempt, judged)
    },
    noteTry: loginThrottle.noteTry,
  }
}

function refusalOf({ account, actor = account, address }: Attempt, scheme: LimitRefusal['scheme']): LimitRefusal {
  return { scheme, actor: nameIn(actor), target: nameIn(account), address, count: 1 }
}

const nameIn = (text: string | undefined): string | null => (text !== undefined && isUsername(text) ? text : null)
