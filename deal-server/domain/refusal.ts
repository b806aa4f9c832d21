import { ProblemError } from '../../shared/platform/problems/errors.ts'

/** Why a deal does not allow a use case. What HTTP makes of each code is decided in `http/problems.ts`. */
export type DealRefusalCode =
  | 'date-out-of-range'
  | 'deal-closed'
  | 'deal-completed'
  | 'deal-exists'
  | 'deal-held'
  | 'employee-unknown'
  | 'incomplete-representation'
  | 'inconsistent-attributes'
  | 'invalid-value'
  | 'open-tasks'
  | 'penalty-limit'
  | 'penalty-required'
  | 'read-only-attribute'
  | 'reason-required'
  | 'task-done'
  | 'task-dropped'
  | 'task-exists'
  | 'task-limit'
  | 'task-not-found'
  | 'use-case-required'

export type DealRefusal = ProblemError<DealRefusalCode>

/**
 * A refusal of the domain. `detail` is for the developer of the calling client. It says nothing of the deal beyond the
 * code: callers who may not read deals see it too. What else the deal says goes into `members`.
 */
export const refuse = (
  code: DealRefusalCode,
  detail: string,
  members: Readonly<Record<string, unknown>> = {},
): DealRefusal => new ProblemError(code, detail, { members })

/** A refusal because of one parameter: its name, what is wrong with it, and a sentence. */
export const refuseMember = (
  code: DealRefusalCode,
  member: { readonly name: string; readonly problem: string; readonly message: string },
): DealRefusal => {
  const pointer = `/${member.name}`
  const errors = [{ pointer, code: member.problem, message: member.message }]
  return refuse(code, `${pointer}: ${member.message}`, { errors })
}

/** Tells a refusal from what is decided otherwise. */
export const isRefusal = <Value>(decision: Value | DealRefusal): decision is DealRefusal =>
  decision instanceof ProblemError
