/** What is wrong with a form that was sent, in words for people. */
import type { MemberError, ProblemDocument } from '../../shared/platform/problems/problem-document.ts'
import { fieldFaults, refusals } from '../texts/deal.ts'

/** The same problem in words for people; an error inside of a list is at the list. */
export function faultsOf(problem: ProblemDocument): ProblemDocument {
  const errors = (problem.errors ?? []) as readonly MemberError[]
  const detail = refusals[problem.code] ?? problem.detail
  if (errors.length === 0) return { ...problem, detail }
  return {
    ...problem,
    detail,
    errors: errors.map(({ pointer, code, message }) => ({
      pointer: pointer.replace(/^(\/[^/]*).*$/s, '$1'),
      code,
      message: fieldFaults[code] ?? message,
    })),
  }
}
