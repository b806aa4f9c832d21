/** The facts of a deal. */
import type { Child } from 'hono/jsx'
import type { DealView } from '../deal-forms/deal-view.ts'
import { Time } from '../frame/content.tsx'
import type { Reader } from '../frame/reader.ts'
import { dealTexts as texts } from '../texts/deal.ts'

interface FactsParts {
  readonly deal: DealView
  readonly reader: Reader
}

/** A fact, or nothing when the deal has none. */
type Fact = readonly [label: string, value: Child | null]

/** The panel with all facts that the deal has. */
export function Facts({ deal, reader }: FactsParts) {
  const parts = { deal, reader }
  const facts = [...mainFacts(parts), ...outcomeFacts(parts), ...reasonFacts(parts), ...recordFacts(parts)]
  return (
    <section class="panel" aria-labelledby="facts">
      <h2 id="facts">{texts.facts}</h2>
      <p class="amount">{reader.money(deal.priceText, deal.currency)}</p>
      <FactList facts={facts} />
      <p class="actions no-print">
        <a href={`/console/deals?${new URLSearchParams({ ownerId: deal.ownerId })}`}>{texts.ofOwner(deal.ownerId)}</a>
        <a href={`/rest/v1/deals/${encodeURIComponent(deal.id)}`}>{texts.asJson}</a>
      </p>
    </section>
  )
}

function FactList({ facts }: { readonly facts: readonly Fact[] }) {
  return (
    <dl class="facts">
      {facts
        .filter(([, value]) => value !== null && value !== '')
        .map(([label, value]) => (
          <>
            <dt>{label}</dt>
            <dd>{value}</dd>
          </>
        ))}
    </dl>
  )
}

const amountOf = ({ deal: { currency }, reader }: FactsParts, amount: number | null) =>
  amount === null ? null : reader.money(amount, currency)

const mainFacts = ({ deal, reader }: FactsParts): Fact[] => [
  [texts.owner, deal.ownerId],
  [texts.completionDate, deal.completionDate === null ? '–' : reader.date(deal.completionDate)],
  [texts.description, deal.description && <span class="lines">{deal.description}</span>],
]

/** What became of the deal. */
function outcomeFacts({ deal, reader }: FactsParts): Fact[] {
  const { completion } = deal
  const parts = { deal, reader }
  return [
    [texts.completedOn, completion && reader.date(completion.completedOn)],
    [texts.finalPrice, completion && amountOf(parts, completion.finalPrice)],
    [texts.documentNumber, completion?.documentNumber ?? null],
    [texts.comment, completion?.comment ? <span class="lines">{completion.comment}</span> : null],
    [texts.cancelledAt, deal.cancelledAt && <Time time={deal.cancelledAt} reader={reader} />],
    [texts.cancelReason, deal.cancelReason && <span class="lines">{deal.cancelReason}</span>],
    [texts.cancelPenalty, amountOf(parts, deal.cancelPenalty)],
  ]
}

const reasonFacts = ({ deal, reader }: FactsParts): Fact[] => [
  [texts.holdReason, deal.holdReason && <span class="lines">{deal.holdReason}</span>],
  [texts.holdReasonCode, deal.holdReasonCode && <code>{deal.holdReasonCode}</code>],
  [texts.priceReason, deal.priceReason && <span class="lines">{deal.priceReason}</span>],
  [texts.completionDateReason, deal.completionDateReason && <span class="lines">{deal.completionDateReason}</span>],
  [texts.completionDatePenalty, amountOf({ deal, reader }, deal.completionDatePenalty)],
  [texts.penaltyTotal, deal.penaltyTotal === 0 ? null : amountOf({ deal, reader }, deal.penaltyTotal)],
]

/** What the server keeps. */
const recordFacts = ({ deal, reader }: FactsParts): Fact[] => [
  [texts.created, <By time={deal.createdAt} who={deal.createdBy} reader={reader} />],
  [texts.updated, <By time={deal.updatedAt} who={deal.updatedBy} reader={reader} />],
  [texts.version, reader.number(deal.version)],
]

function By({ time, who, reader }: { readonly time: string; readonly who: string; readonly reader: Reader }) {
  return (
    <>
      <Time time={time} reader={reader} /> {texts.by} {who}
    </>
  )
}
