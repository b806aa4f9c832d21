/** Problems of the API at the fields of a form. */
import type { MemberError, ProblemDocument } from '../../shared/platform/problems/problem-document.ts'

/** The field at which a problem without `errors`, or an error, is shown, by its code. */
const fieldOfCode: Readonly<Record<string, string>> = {
  'wrong-password': 'password',
  'recent-login-required': 'password',
  'invalid-credentials': 'password',
  'role-exists': 'name',
  'client-exists': 'name',
  'service-exists': 'name',
  'user-exists': 'username',
  'reserved-user': 'username',
  'rights-missing': 'reach',
}

/** Fields of which each line is an item. */
const ofLines: ReadonlySet<string> = new Set(['redirectUris', 'postLogoutRedirectUris', 'resourceServers'])

/**
 * The problem with an error at each field at fault: `/rights/3` is at the field `rights`, and an error of an item that
 * has a line names it. `fields` says at which field a code is shown that names no member.
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
  return { ...problem, errors: errors.map((error) => atField(error, fields)) }
}

function atField({ pointer, code, message }: MemberError, fields: Readonly<Record<string, string>>): MemberError {
  const [, member = '', item] = pointer.split('/')
  const isOfLine = item !== undefined && ofLines.has(member)
  return {
    pointer: `/${fields[code] ?? member}`,
    code,
    message: isOfLine ? `Line ${Number(item) + 1}: ${message}` : message,
  }
}
