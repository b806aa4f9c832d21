/**
 * Every code of both servers with what there is to say about it, so that either server explains all of them. Which codes a server
 * answers with, and that each has an entry here, is held by its own table (`http/problems.ts`).
 */
import type { ProblemEntry } from '../../platform/problems/problem-document.ts'
import { authProblems } from './auth-server.ts'
import { sharedProblems } from './both-servers.ts'
import { dealProblems } from './deal-server.ts'

/** Which of the two servers. */
export type ServerName = 'auth' | 'deal'

/** One code as its page shows it. */
export interface ExplainedProblem extends ProblemEntry {
  readonly code: string
  /** The servers that answer with it. */
  readonly servers: readonly ServerName[]
}

const explain = (entries: Readonly<Record<string, ProblemEntry>>, servers: readonly ServerName[]): ExplainedProblem[] =>
  Object.entries(entries).map(([code, entry]) => ({ code, ...entry, servers }))

/**
 * All codes, by status and name. A code in two tables would be two of them.
 * @param expiredTokenStatus the status the operator chose for expired tokens (EXPIRED_TOKEN_STATUS)
 */
export const explainedProblems = (expiredTokenStatus: number): ExplainedProblem[] =>
  [...explain(sharedProblems, ['auth', 'deal']), ...explain(authProblems, ['auth']), ...explain(dealProblems, ['deal'])]
    .map((problem) => (problem.code === 'token-expired' ? { ...problem, status: expiredTokenStatus } : problem))
    .sort((a, b) => a.status - b.status || (a.code < b.code ? -1 : 1))
