/** The page on which a deal is created. The form chooses the id: sent twice, it makes one deal. */

import { currencyExponents } from '../../deal-server/domain/currency.ts'
import { createDeal } from '../../deal-server/use-cases/create-deal.ts'
import { parseUuid } from '../../deal-server/use-cases/parameters.ts'
import type { IdSource } from '../../shared/platform/ids.ts'
import type { ProblemDocument } from '../../shared/platform/problems/problem-document.ts'
import type { PageResult } from '../frame/console.tsx'
import type { DealPage, DealVisit } from '../frame/deal-api.ts'
import { ErrorSummary } from '../frame/fields.tsx'
import { pathOfDeal } from '../parts/deal-parts.tsx'
import { CommandForm, fieldPartsOf, hiddenFields, Suggestions, shownFieldsOf } from './command-form.tsx'
import { faultsOf } from './faults.ts'
import { decodeForm } from './form-fields.ts'
import { commandHeaders, outcomeOf } from './send-command.ts'

const path = '/console/deals/new'

/** `/console/deals/new`. */
export const newDealPage = (ids: IdSource): DealPage => ({
  methods: ['GET', 'POST'],
  path,
  right: 'deal.create',
  render: (visit) => (visit.request.method === 'POST' ? create(visit, ids) : showForm(visit, { id: ids.uuid() })),
})

/** The id of the form is the id of the deal, and of the command. */
async function create(visit: DealVisit, ids: IdSource): Promise<PageResult> {
  const { api, form } = visit
  const id = parseUuid(form.get(hiddenFields.commandId) ?? '') ?? ids.uuid()
  const body = decodeForm(shownFieldsOf(createDeal), form, { id })
  const reply = outcomeOf(await api.call('POST /rest/v1/deals', { body, headers: commandHeaders(id) }))
  if (reply.ok) return { redirect: `${pathOfDeal(id)}?done=${createDeal.verb}` }
  return showForm(visit, { values: form, id: reply.isOpen ? id : ids.uuid(), faults: faultsOf(reply.problem) })
}

interface OpenForm {
  readonly values?: ReadonlyMap<string, string>
  readonly id: string
  readonly faults?: ProblemDocument
}

function showForm({ caller }: DealVisit, { values, id, faults }: OpenForm): PageResult {
  const parts = { command: createDeal, values, faults }
  return {
    title: 'New deal',
    status: faults?.status ?? 200,
    content: (
      <div class="form-page">
        <p class="crumb">
          <a href="/console/deals">All deals</a>
        </p>
        <h1>New deal</h1>
        <ErrorSummary problem={faults} fields={fieldPartsOf(parts)} />
        <div class="panel">
          <CommandForm {...parts} action={path} commandId={id} />
        </div>
        <Suggestions people={[caller.username]} currencies={[...currencyExponents.keys()]} />
      </div>
    ),
  }
}
