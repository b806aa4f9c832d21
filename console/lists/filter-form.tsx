/** The form of filters, and the views above it. */

import type { ProblemDocument } from '../../shared/platform/problems/problem-document.ts'
import { ErrorSummary, Field, fieldErrors } from '../frame/fields.tsx'
import { activeFilters, filledFields } from '../parts/filters.ts'
import { isShown, type View } from './views.ts'

interface FilterFormProps {
  readonly query: URLSearchParams
  readonly problem: ProblemDocument | undefined
}

/** A form by GET: what is found is in the URL. On a phone it is closed at first (`details.wide-open`). */
export function FilterForm({ query, problem }: FilterFormProps) {
  const fields = filledFields(query, fieldErrors(problem))
  const common = fields.filter(({ isCommon }) => isCommon)
  const further = fields.filter(({ isCommon }) => !isCommon)
  const active = activeFilters(query)
  const isSet = ({ name }: { readonly name: string }) => query.has(name) && name !== 'sort' && name !== 'limit'
  const set = further.filter(isSet).length
  const form = (
    <form method="get" action="/console/deals" class="panel stack" aria-label="Filters">
      <ErrorSummary problem={problem} fields={fields} />
      <div class="filters">
        {common.map((parts) => (
          <Filter {...parts} />
        ))}
        <div class="actions">
          <button type="submit">Apply</button>
          {active > 0 && (
            <>
              <a class="clear" href="/console/deals">
                Clear all
              </a>
              <span class="hint">{active === 1 ? '1 filter is set.' : `${active} filters are set.`}</span>
            </>
          )}
        </div>
      </div>
      <details open={further.some(({ error }) => error !== undefined)}>
        <summary>{set === 0 ? 'More filters' : `More filters (${set} set)`}</summary>
        <p class="hint">Days are in UTC. The last day is included.</p>
        <div class="filters">
          {further.map((parts) => (
            <Filter {...parts} />
          ))}
        </div>
      </details>
    </form>
  )
  return (
    <details class="wide-open" open={problem !== undefined}>
      <summary>{active === 0 ? 'Filters' : `Filters (${active} set)`}</summary>
      {form}
    </details>
  )
}

/** All fields of filters are optional: none says so. */
const Filter = (parts: Parameters<typeof Field>[0]) => <Field {...parts} isFilter />

interface ViewsProps {
  readonly views: readonly View[]
  readonly query: URLSearchParams
  readonly username: string
  /** False for a query that was refused. */
  readonly isGood: boolean
}

/** Ready views as links. The script adds those that the reader has saved in the browser. */
export function Views({ views, query, username, isGood }: ViewsProps) {
  return (
    <nav class="tabs" aria-label="Views" data-views={username} data-remove="Remove the view">
      <ul>
        {views.map((view) => (
          <li>
            <a
              href={`/console/deals${view.query.size > 0 ? `?${view.query}` : ''}`}
              aria-current={isShown(view, query) ? 'page' : undefined}
            >
              {view.text}
            </a>
          </li>
        ))}
      </ul>
      {isGood && (
        <details class="save-view" hidden>
          <summary>Save this view</summary>
          <form class="row">
            <Field
              name="view-name"
              label="Name of the view"
              isRequired
              maxLength={60}
              hint="Views are kept in this browser until you sign out."
            />
            <button type="submit">Save</button>
          </form>
        </details>
      )}
    </nav>
  )
}
