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

/** The value of a field, or undefined when it is empty: the API leaves such members out. */
export function fieldTextOf(form: ReadonlyMap<string, string>, name: string): string | undefined {
  const text = form.get(name)
  return text === '' ? undefined : text
}
