/** Every code this server answers with, and its status. A domain code without an entry does not compile. */
import { type ProblemEntry, type SharedProblemCode, sharedProblems } from '../../shared/problems.ts'
import type { DealRefusalCode } from '../domain/refusal.ts'

type DealProblemCode =
  | DealRefusalCode
  | 'command-expired'
  | 'command-id-reused'
  | 'command-in-progress'
  | 'deal-mismatch'
  | 'precondition-failed'
  | 'unknown-version'

const dealProblems = {
  ...sharedProblems,
  'deal-mismatch': { status: 400, title: 'Two parts of the request name different deals' },
  'unknown-version': { status: 404, title: 'This version of the interface does not exist' },
  'command-in-progress': { status: 409, title: 'Too many commands wait for this deal' },
  'deal-closed': { status: 409, title: 'The deal is completed or cancelled' },
  'deal-completed': { status: 409, title: 'The deal is completed' },
  'deal-exists': { status: 409, title: 'A deal with this id exists already' },
  'deal-held': { status: 409, title: 'The deal is held' },
  'command-expired': { status: 410, title: 'The answer to this command is no longer kept' },
  'precondition-failed': { status: 412, title: 'The deal is not in the state the request was made for' },
  'command-id-reused': { status: 422, title: 'This command id stands for another command' },
  'employee-unknown': { status: 422, title: 'The named employee is not an enabled user' },
} as const satisfies Record<DealProblemCode | SharedProblemCode, ProblemEntry>

/** The table, with the status the operator chose for expired tokens (EXPIRED_TOKEN_STATUS). */
export const createDealProblems = (
  expiredTokenStatus: number,
): Record<DealProblemCode | SharedProblemCode, ProblemEntry> => ({
  ...dealProblems,
  'token-expired': { ...dealProblems['token-expired'], status: expiredTokenStatus },
})
