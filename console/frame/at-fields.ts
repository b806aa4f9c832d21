/** Problems of the API at the fields of a form. */
import type { MemberError, ProblemDocument } from '../../shared/platform/problems/problem-document.ts'

/** The field at which a problem without `errors` is shown, by the code of the problem. */
const fieldOfCode: Readonly<Record<string, string>> = {
  'wrong-password': 'password',
  'recent-login-required': 'password',
  'invalid-credentials': 'password',
}

/**
 * The problem with an error at each field at fault: `/rights/3` is at the field `rights`. `fields` says at which
 * field a code is shown that names no member.
 */
export function atFields(
  problem: ProblemDocument,
  fields: Readonly<Record<string, string>> = fieldOfCode,
): ProblemDocument {
  const field = fields[problem.code]
  const errors = (problem.errors ?? []) as readonly MemberError[]
  if (errors.length === 0 && field === undefined) return problem
  if (errors.length === 0) {
    return { ...problem, errors: [{ pointer: `/${field}`, code: problem.code, message: problem.detail }] }
  }
  return { ...problem, errors: errors.map((error) => ({ ...error, pointer: memberOf(error.pointer) })) }
}

const memberOf = (pointer: string): string => pointer.replace(/^(\/[^/]+)\/.*$/, '$1')
