/** What the forms of the pages have in common: messages after a success, and errors at their fields. */
import type { MemberError, ProblemDocument } from '../../../../shared/platform/problems/problem-document.ts'
import { strings } from '../texts/account.ts'

/** A code of a message after something was done. */
export type Done = keyof typeof strings.done

/** The message for the code in `?done`; undefined for an unknown code. */
export function doneText({ query }: { readonly query: URLSearchParams }): string | undefined {
  const code = query.get('done')
  return code !== null && Object.hasOwn(strings.done, code) ? strings.done[code as Done] : undefined
}

/** The page to go to after a success. */
export const doneAt = (path: string, done: Done) => ({ redirect: `${path}?done=${done}` })

/** A problem that the page itself found, before the API was called. */
export const formProblem = (errors: Readonly<Record<string, string>>): ProblemDocument => ({
  type: 'about:blank',
  title: 'Some values cannot be accepted.',
  status: 422,
  detail: Object.values(errors).join(' '),
  instance: '',
  code: 'invalid-value',
  requestId: '',
  errors: Object.entries(errors).map(([name, message]) => ({ pointer: `/${name}`, code: 'form', message })),
})

/** The field at which a problem without `errors` is shown, by the code of the problem. */
const fieldOfCode: Readonly<Record<string, string>> = {
  'wrong-password': 'password',
  'recent-login-required': 'password',
  'invalid-credentials': 'password',
}

/**
 * The problem with an error at each field at fault: `/rights/3` stands at the field `rights`. `fields` says at which
 * field a code stands that names no member.
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

/** The value of a field, or undefined when it is empty: the API leaves such members out. */
export function textOf(form: ReadonlyMap<string, string>, name: string): string | undefined {
  const text = form.get(name)
  return text === '' ? undefined : text
}
