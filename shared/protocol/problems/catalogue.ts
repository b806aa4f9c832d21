/** All problem codes of both servers with their explanations: either server can explain every code. */
import type { ProblemEntry } from '../../platform/problems/problem-document.ts'
import { authProblems } from './auth-server.ts'
import { sharedProblems } from './both-servers.ts'
import { dealProblems } from './deal-server.ts'

/** One of the two servers. */
export type ServerName = 'auth' | 'deal'

/** A code with its explanation, as its page shows it. */
export interface ExplainedProblem extends ProblemEntry {
  readonly code: string
  /** The servers that use the code. */
  readonly servers: readonly ServerName[]
}

const ownProblems = { auth: authProblems, deal: dealProblems }

/** The table of a server, with the status that the operator chose for expired tokens (EXPIRED_TOKEN_STATUS). */
export const problemsOf = <Server extends ServerName>(server: Server, expiredTokenStatus: number) => ({
  ...sharedProblems,
  ...ownProblems[server],
  'token-expired': { ...sharedProblems['token-expired'], status: expiredTokenStatus },
})

const explain = (entries: Readonly<Record<string, ProblemEntry>>, servers: readonly ServerName[]): ExplainedProblem[] =>
  Object.entries(entries).map(([code, entry]) => ({ code, ...entry, servers }))

/**
 * All codes, sorted by status and name. No code is in two tables.
 * @param expiredTokenStatus the status that the operator chose for expired tokens (EXPIRED_TOKEN_STATUS)
 */
export const explainedProblems = (expiredTokenStatus: number): ExplainedProblem[] =>
  [...explain(sharedProblems, ['auth', 'deal']), ...explain(authProblems, ['auth']), ...explain(dealProblems, ['deal'])]
    .map((problem) => (problem.code === 'token-expired' ? { ...problem, status: expiredTokenStatus } : problem))
    .sort((a, b) => a.status - b.status || (a.code < b.code ? -1 : 1))
