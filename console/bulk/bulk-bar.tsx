/** The form around a list of deals that changes those that are selected. */

import type { Child } from 'hono/jsx'
import type { Right } from '../../auth-server/principals/rights.ts'
import { Field } from '../frame/fields.tsx'
import { may } from '../frame/may.ts'

/** What can be done with several deals at once. */
export type BulkAction = 'hold' | 'unhold' | 'assign'

const bulkActions: readonly BulkAction[] = ['hold', 'unhold', 'assign']

const titles: Readonly<Record<BulkAction, string>> = {
  hold: 'Put on hold',
  unhold: 'End the hold',
  assign: 'Assign an owner',
}

const rightOf: Readonly<Record<BulkAction, Right>> = {
  hold: 'deal.hold',
  unhold: 'deal.unhold',
  assign: 'deal.assign-owner',
}

/** The actions that these rights allow, in order. */
export const bulkActionsOf = (rights: ReadonlySet<string>): readonly BulkAction[] =>
  bulkActions.filter((action) => may({ rights }, rightOf[action]))

interface BulkEntries {
  readonly action?: string | undefined
  readonly reason?: string | undefined
  readonly employeeId?: string | undefined
  readonly errors?: Readonly<Record<string, string>>
}

interface BulkBarProps extends BulkEntries {
  readonly actions: readonly BulkAction[]
  /** The query of the list, to return to it. */
  readonly query: URLSearchParams
  /** The list of deals with its checkboxes. */
  readonly children?: Child
}

/** The form. `bulkId` begins the command ids: a form that is sent again does nothing twice. */
export function BulkBar({ actions, query, children, ...entries }: BulkBarProps) {
  const { action, reason, employeeId, errors = {} } = entries
  const options = actions.map((value) => ({ value, text: titles[value] }))
  const common = { form: 'bulk', isFilter: true }
  return (
    <form method="post" action={`/console/deals/bulk?${query}`} class="bulk">
      <input type="hidden" name="bulkId" value={crypto.randomUUID()} />
      {children}
      <fieldset class="bulk-bar">
        <legend>Change the selected deals</legend>
        <div class="row">
          <Field name="action" label="Action" kind="select" options={options} value={action} {...common} />
          {actions.includes('hold') && (
            <Field
              name="reason"
              label="Reason"
              value={reason}
              error={errors.reason}
              maxLength={1000}
              hint="Needed to put deals on hold."
              {...common}
            />
          )}
          {actions.includes('assign') && (
            <Field
              name="employeeId"
              label="New owner"
              value={employeeId}
              error={errors.employeeId}
              hint="A user name. Needed to assign an owner."
              maxLength={64}
              {...common}
            />
          )}
          <button type="submit">Apply to the selected deals</button>
        </div>
      </fieldset>
    </form>
  )
}
