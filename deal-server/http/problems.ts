/** Every code this server answers with, and its status. A domain code without an entry does not compile. */
import { type ProblemEntry, type SharedProblemCode, sharedProblems } from '../../shared/problems.ts'
import type { DealRefusalCode } from '../domain/refusal.ts'

type DealProblemCode =
  | DealRefusalCode
  | 'ambiguous-update'
  | 'incomplete-representation'
  | 'precondition-required'
  | 'unknown-action'
  | 'unknown-command'
  | 'unknown-query'
  | 'command-expired'
  | 'command-id-reused'
  | 'command-in-progress'
  | 'deal-mismatch'
  | 'precondition-failed'
  | 'unknown-version'

const dealProblems = {
  ...sharedProblems,
  'ambiguous-update': { status: 400, title: 'The update is an action and a deal at once' },
  'deal-mismatch': { status: 400, title: 'Two parts of the request name different deals' },
  'unknown-action': { status: 400, title: 'There is no use case of this name' },
  'task-not-found': { status: 404, title: 'The deal has no such task' },
  'unknown-command': { status: 404, title: 'There is no command of this name' },
  'unknown-query': { status: 404, title: 'There is no query for this kind of record' },
  'unknown-version': { status: 404, title: 'This version of the interface does not exist' },
  'command-in-progress': { status: 409, title: 'Too many commands wait for this deal' },
  'deal-closed': { status: 409, title: 'The deal is completed or cancelled' },
  'deal-completed': { status: 409, title: 'The deal is completed' },
  'deal-exists': { status: 409, title: 'A deal with this id exists already' },
  'deal-held': { status: 409, title: 'The deal is held' },
  'open-tasks': { status: 409, title: 'The deal has open tasks' },
  'task-done': { status: 409, title: 'The task is done' },
  'task-dropped': { status: 409, title: 'The task was dropped' },
  'task-exists': { status: 409, title: 'Another task with this id exists already' },
  'task-limit': { status: 409, title: 'The deal has as many tasks as it may have' },
  'command-expired': { status: 410, title: 'The answer to this command is no longer kept' },
  'precondition-failed': { status: 412, title: 'The deal is not in the state the request was made for' },
  'command-id-reused': { status: 422, title: 'This command id stands for another command' },
  'date-out-of-range': { status: 422, title: 'The date cannot be right' },
  'employee-unknown': { status: 422, title: 'The named employee is not an enabled user' },
  'incomplete-representation': { status: 422, title: 'A whole deal must be sent' },
  'inconsistent-attributes': { status: 422, title: 'Two attributes contradict each other' },
  'penalty-limit': { status: 422, title: 'The total of all penalties would be too large' },
  'penalty-required': { status: 422, title: 'The change needs a penalty amount, 0 for none' },
  'read-only-attribute': { status: 422, title: 'The attribute cannot be changed' },
  'reason-required': { status: 422, title: 'The change needs a reason of its own' },
  'use-case-required': { status: 422, title: 'A use case of its own does this' },
  'precondition-required': { status: 428, title: 'The request must say which version it was made for' },
} as const satisfies Record<DealProblemCode | SharedProblemCode, ProblemEntry>

/** The table, with the status the operator chose for expired tokens (EXPIRED_TOKEN_STATUS). */
export const createDealProblems = (
  expiredTokenStatus: number,
): Record<DealProblemCode | SharedProblemCode, ProblemEntry> => ({
  ...dealProblems,
  'token-expired': { ...dealProblems['token-expired'], status: expiredTokenStatus },
})
