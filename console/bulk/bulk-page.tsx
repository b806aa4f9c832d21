/** `/console/deals/bulk`: changes the selected deals, and shows what happened to each. */

import type { RowOutcome } from '../../deal-server/files/outcomes.ts'
import type { PageResult } from '../frame/console.tsx'
import { type Column, Table } from '../frame/content.tsx'
import type { DealPage, DealVisit } from '../frame/deal-api.ts'
import { ErrorSummary } from '../frame/fields.tsx'
import { runBatch } from '../parts/batch.ts'
import { pathOfDeal } from '../parts/deal-parts.tsx'
import { type BulkAction, BulkBar, bulkActionsOf } from './bulk-bar.tsx'
import { commandsFor, type Selected, selectedIn } from './commands.ts'

/** The page. Sent again with the same `bulkId`, it shows the same outcomes. */
export const bulkPage = (): DealPage => ({
  methods: ['GET', 'POST'],
  path: '/console/deals/bulk',
  right: 'deal.read',
  render: (visit) => (visit.request.method === 'GET' ? { redirect: listOf(visit) } : change(visit)),
})

/** The list that the form was on. */
const listOf = ({ request }: DealVisit): string => `/console/deals?${request.query}`

interface Named extends Selected {
  readonly name: string
}

async function change(visit: DealVisit): Promise<PageResult> {
  const { form, api, caller } = visit
  const entered = (name: string) => (form.get(name) ?? '').trim()
  const selected = selectedIn(form).slice(0, maxSelected)
  const actions = bulkActionsOf(caller.rights)
  const action = actions.find((name) => name === form.get('action')) ?? actions[0]
  const errors = faultsOf({ action, selected, reason: entered('reason'), employeeId: entered('employeeId') })
  if (action === undefined || errors.length > 0)
    return askAgain(visit, { deals: await namesOf(visit, selected), actions, errors })
  const bulkId = /^[0-9a-f-]{36}$/.test(entered('bulkId')) ? entered('bulkId') : crypto.randomUUID()
  const change = { action, bulkId, reason: entered('reason'), employeeId: entered('employeeId') }
  const commands = commandsFor(selected, change)
  const deals = await namesOf(visit, selected)
  return shownResult(visit, deals, await runBatch(api, commands))
}

/** A page of the list has no more deals. */
const maxSelected = 200

interface Entered {
  readonly action: BulkAction | undefined
  readonly selected: readonly Selected[]
  readonly reason: string
  readonly employeeId: string
}

type Faults = { readonly pointer: string; readonly code: string; readonly message: string }[]

function faultsOf({ action, selected, reason, employeeId }: Entered): Faults {
  const fault = (name: string, message: string) => ({ pointer: `/${name}`, code: 'missing-member', message })
  return [
    ...(selected.length === 0 ? [fault('selection', 'Select at least one deal.')] : []),
    ...(action === 'hold' && reason === '' ? [fault('reason', 'This is needed.')] : []),
    ...(action === 'assign' && employeeId === '' ? [fault('employeeId', 'This is needed.')] : []),
  ]
}

async function namesOf({ api }: DealVisit, selected: readonly Selected[]): Promise<Named[]> {
  if (selected.length === 0) return []
  const query = { id: selected.map(({ id }) => id).join(','), fields: 'name', limit: maxSelected }
  const { items } = await api.get('GET /rest/v1/deals', { query })
  const names = new Map(items.map(({ id, name }) => [id, name]))
  return selected.map((deal) => ({ ...deal, name: names.get(deal.id) ?? deal.id }))
}

interface Again {
  readonly deals: readonly Named[]
  readonly actions: readonly BulkAction[]
  readonly errors: Faults
}

const dealColumn: Column<Named> = {
  title: 'Selected deals',
  cell: ({ id, name }) => <a href={pathOfDeal(id)}>{name}</a>,
}

function askAgain(visit: DealVisit, { deals, actions, errors }: Again): PageResult {
  const { form, request } = visit
  const fields = [
    { name: 'reason', label: 'Reason', form: 'bulk' },
    { name: 'employeeId', label: 'New owner', form: 'bulk' },
  ]
  const messages = Object.fromEntries(errors.map(({ pointer, message }) => [pointer.slice(1), message]))
  const [action, reason, employeeId] = ['action', 'reason', 'employeeId'].map((name) => form.get(name))
  return {
    title: 'Change several deals',
    status: 422,
    content: (
      <>
        <h1>Change several deals</h1>
        <ErrorSummary problem={{ detail: 'Select at least one deal.', errors }} fields={fields} />
        {deals.length > 0 && (
          <BulkBar
            query={request.query}
            actions={actions}
            errors={messages}
            action={action}
            reason={reason}
            employeeId={employeeId}
          >
            {deals.map(({ id, version }) => (
              <input type="hidden" name={`select.${id}`} value={version} />
            ))}
            <Table caption="Selected deals" columns={[dealColumn]} rows={deals} />
          </BulkBar>
        )}
        <Back to={listOf(visit)} />
      </>
    ),
  }
}

const Back = ({ to }: { readonly to: string }) => (
  <p>
    <a href={to}>Back to the deals</a>
  </p>
)

interface Result extends Named {
  readonly outcome: RowOutcome | undefined
}

const reasonOf = (outcome: RowOutcome | undefined): string => {
  if (outcome?.is !== 'refused') return '–'
  return outcome.code === 'precondition-failed'
    ? 'The deal has changed since you opened the list. Look at it, then try again.'
    : outcome.reason
}

const resultColumns: readonly Column<Result>[] = [
  dealColumn,
  {
    title: 'Outcome',
    cell: ({ outcome }) => (
      <span class={outcome?.is === 'done' ? 'badge good' : 'badge bad'}>
        {outcome?.is === 'done' ? 'done' : 'refused'}
      </span>
    ),
  },
  { title: 'Reason', cell: ({ outcome }) => reasonOf(outcome) },
]

function shownResult(visit: DealVisit, deals: readonly Named[], outcomes: readonly RowOutcome[]): PageResult {
  const results = deals.map((deal, index): Result => ({ ...deal, outcome: outcomes[index] }))
  const refused = results.filter(({ outcome }) => outcome?.is !== 'done')
  const done = results.length - refused.length
  return {
    title: 'What happened to the deals',
    content: (
      <>
        <h1>What happened to the deals</h1>
        <p class={refused.length > 0 ? 'warning' : 'notice'} role="status">
          {done} changed, {refused.length} refused.
        </p>
        <Table
          caption="What happened to the deals"
          columns={resultColumns}
          rows={[...refused, ...results.filter(({ outcome }) => outcome?.is === 'done')]}
        />
        <Back to={listOf(visit)} />
      </>
    ),
  }
}
