/** The entity tag of what a page shows, in its forms: a form of an old page changes and deletes nothing. */
import { entityTag } from '../../shared/platform/http/cacheable.ts'
import type { AuthVisit } from '../frame/auth-api.ts'

/** No entity tag of the API. */
const noTag = '""'

/** The hidden field. `of` is what the page shows, as the API gave it. */
export const ShownTag = ({ of }: { readonly of: object }) => (
  <input type="hidden" name="etag" value={entityTag(JSON.stringify(of))} />
)

/** The precondition of a form: nothing has changed since the page was made. A form without the field is refused. */
export const unchanged = (form: AuthVisit['form']) => ({ 'if-match': form.get('etag') || noTag })
