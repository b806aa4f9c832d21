/** What the forms of the pages have in common: messages after a success, and errors at their fields. */
import type { ProblemDocument } from '../../shared/platform/problems/problem-document.ts'
import { strings } from '../texts/account.ts'

/** A code of a message after something was done. */
export type Done = keyof typeof strings.done

/** The message for the code in `?done`; undefined for an unknown code. */
export function doneText({ query }: { readonly query: URLSearchParams }): string | undefined {
  const code = query.get('done')
  return code !== null && Object.hasOwn(strings.done, code) ? strings.done[code as Done] : undefined
}

/** The page to go to after a success, which says so. */
export const doneAt = (path: string, done: Done | undefined) => ({ redirect: done ? `${path}?done=${done}` : path })

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

/** The lines of a field that are not empty. */
export const linesIn = (form: ReadonlyMap<string, string>, name: string): string[] =>
  (form.get(name) ?? '')
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')

/** The value of a field, or undefined when it is empty: the API leaves such members out. */
export function fieldTextOf(form: ReadonlyMap<string, string>, name: string): string | undefined {
  const text = form.get(name)
  return text === '' ? undefined : text
}
