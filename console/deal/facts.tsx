/** The facts of a deal. */
import { emptyFields, type LabelledField, labelledFields } from '../../deal-server/domain/deal-fields.ts'
import type { DealView } from '../deal-forms/deal-view.ts'
import { type Fact, Facts, Time } from '../frame/content.tsx'
import type { Reader } from '../frame/reader.ts'

interface FactsProps {
  readonly deal: DealView
  readonly reader: Reader
}

/** The panel with all facts that the deal has. */
export function DealFacts({ deal, reader }: FactsProps) {
  const parts = { deal, reader }
  const ofFields = labelledFields.map((field) => factOf(field, parts))
  const facts = [...ofFields, ...completionFacts(parts), ...recordFacts(parts)]
  return (
    <section class="panel" aria-labelledby="facts">
      <h2 id="facts">Facts</h2>
      <p class="amount">{reader.money(deal.priceText, deal.currency)}</p>
      <Facts facts={facts} />
      <p class="actions no-print">
        <a href={`/console/deals?${new URLSearchParams({ ownerId: deal.ownerId })}`}>All deals of {deal.ownerId}</a>
        <a href={`/rest/v1/deals/${encodeURIComponent(deal.id)}`}>This deal as JSON</a>
      </p>
    </section>
  )
}

/** A fact by the kind of its field. */
function factOf({ name, kind, label }: LabelledField, { deal, reader }: FactsProps): Fact {
  const value = deal[name]
  if (kind === 'date') return [label, value === null ? '–' : reader.date(String(value))]
  // A penalty of nothing was decided. A sum of nothing tells nothing.
  if (value === null || (value === 0 && !(name in emptyFields))) return [label, null]
  if (kind === 'amount') return [label, reader.money(value as number, deal.currency)]
  if (kind === 'time') return [label, <Time time={String(value)} reader={reader} />]
  return [label, kind === 'text' ? <span class="lines">{String(value)}</span> : String(value)]
}

/** How the deal was completed. */
function completionFacts({ deal: { completion, currency }, reader }: FactsProps): Fact[] {
  if (!completion) return []
  return [
    ['Completed on', reader.date(completion.completedOn)],
    ['Final price', reader.money(completion.finalPrice, currency)],
    ['Document number', completion.documentNumber],
    ['Comment', completion.comment && <span class="lines">{completion.comment}</span>],
  ]
}

/** What the server keeps. */
const recordFacts = ({ deal, reader }: FactsProps): Fact[] => [
  ['Created', <By time={deal.createdAt} who={deal.createdBy} reader={reader} />],
  ['Last change', <By time={deal.updatedAt} who={deal.updatedBy} reader={reader} />],
  ['Version', reader.number(deal.version)],
]

function By({ time, who, reader }: { readonly time: string; readonly who: string; readonly reader: Reader }) {
  return (
    <>
      <Time time={time} reader={reader} /> by {who}
    </>
  )
}
