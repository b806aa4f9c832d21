/**
 * Reports refusals by the throttle of credentials that come with each request. They belong in the audit log of the auth
 * server; deal servers send theirs to it (`internal-api/limit-refusals.ts`).
 */
import * as z from 'zod'
import { ProblemError } from '../../platform/problems/errors.ts'
import { isUsername } from '../principal/record.ts'
import type { Attempt, LoginThrottle } from './login-throttle.ts'

/** Whoever tried, and whatever was tried; null for what has not the form of a name or an id, and might be a secret. */
const nameSchema = z.string().refine(isUsername).nullable()

/** The form in which one is told of. */
export const limitRefusalSchema = z.object({
  /** The scheme that carried the secret. */
  scheme: z.enum(['basic', 'digest', 'key-signed']),
  actor: nameSchema,
  target: nameSchema,
  /** The client's canonical address; null for many together, of too many clients to tell apart. */
  address: z.string().max(100).nullable(),
  /** How many equal ones it stands for. */
  count: z.int().min(1),
})

/** One refusal by a limit, as it stands in the audit log. */
export type LimitRefusal = z.infer<typeof limitRefusalSchema>

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
