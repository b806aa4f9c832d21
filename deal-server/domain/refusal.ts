import { ProblemError } from '../../shared/platform/problems/errors.ts'

/** The reasons why a deal does not allow a use case. `shared/protocol/problems` has the HTTP status of each code. */
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

/** A refusal with one of these codes. */
export type DealRefusal = ProblemError<DealRefusalCode>

/**
 * A refusal of the domain. `detail` is for the developer of the client. It tells nothing about the deal beyond the
 * code, because callers who may not read deals see it too. Other facts of the deal go into `members`.
 */
export const refuse = (
  code: DealRefusalCode,
  detail: string,
  members: Readonly<Record<string, unknown>> = {},
): DealRefusal => new ProblemError(code, detail, { members })

/** A refusal because of one parameter: its name, the code of the problem, and a sentence. */
export function refuseMember(
  code: DealRefusalCode,
  member: { readonly name: string; readonly problem: string; readonly message: string },
): DealRefusal {
  const pointer = `/${member.name}`
  const errors = [{ pointer, code: member.problem, message: member.message }]
  return refuse(code, `${pointer}: ${member.message}`, { errors })
}

/** True for a refusal. */
export const isRefusal = <Value>(decision: Value | DealRefusal): decision is DealRefusal =>
  decision instanceof ProblemError
