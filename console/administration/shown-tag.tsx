/** The entity tag of what a page shows, in its forms: a form of an old page changes and deletes nothing. */
import { entityTag } from '../../shared/platform/http/cacheable.ts'
import type { AuthVisit } from '../frame/auth-api.ts'
import { formProblem } from '../parts/forms.ts'

/** No entity tag of the API. */
const noTag = '""'

const tagOf = (shown: object): string => entityTag(JSON.stringify(shown))

/** The hidden field. `of` is what the page shows, as the API gave it. */
export const ShownTag = ({ of }: { readonly of: object }) => <input type="hidden" name="etag" value={tagOf(of)} />

/** The precondition of a form: nothing has changed since the page was made. A form without the field is refused. */
export const unchanged = (form: AuthVisit['form']) => ({ 'if-match': form.get('etag') || noTag })

/** The same where the API takes no precondition: the refusal of a form that does not have the tag of this. */
export function refusedIfOld(form: AuthVisit['form'], shown: object) {
  if (form.get('etag') === tagOf(shown)) return undefined
  const detail = 'Nothing was done: somebody has changed it since it was read.'
  return { ok: false as const, problem: { ...formProblem({}), status: 412, code: 'precondition-failed', detail } }
}
