/** All problem codes of this server, and their statuses. A domain code without an entry does not compile. */
import type { ProblemEntry } from '../../shared/platform/problems/problem-document.ts'
import { type SharedProblemCode, sharedProblems } from '../../shared/protocol/problems/both-servers.ts'
import { dealProblems } from '../../shared/protocol/problems/deal-server.ts'
import type { DealRefusalCode } from '../domain/refusal.ts'

type DealProblemCode =
  | DealRefusalCode
  | 'ambiguous-update'
  | 'application-token-required'
  | 'batch-too-large'
  | 'precondition-required'
  | 'unknown-command'
  | 'unknown-query'
  | 'command-expired'
  | 'command-id-reused'
  | 'command-in-progress'
  | 'deal-mismatch'
  | 'outdated-cursor'
  | 'precondition-failed'
  | 'repeated-command-id'
  | 'too-many-batches'
  | 'too-many-webhooks'
  | 'unknown-version'

const table = { ...sharedProblems, ...dealProblems } satisfies Record<DealProblemCode | SharedProblemCode, ProblemEntry>

/** The table, with the operator's status for expired tokens (EXPIRED_TOKEN_STATUS). */
export const createDealProblems = (
  expiredTokenStatus: number,
): Record<DealProblemCode | SharedProblemCode, ProblemEntry> => ({
  ...table,
  'token-expired': { ...table['token-expired'], status: expiredTokenStatus },
})
