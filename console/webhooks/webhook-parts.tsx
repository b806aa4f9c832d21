/** The state of a webhook, and its last deliveries. */
import { type Column, type Fact, Facts, Table, Time } from '../frame/content.tsx'
import type { Reader } from '../frame/reader.ts'
import { pathOfDeal } from '../parts/deal-parts.tsx'
import { webhookTexts as texts } from '../texts/webhooks.ts'
import type { Attempt, Webhook } from './shapes.ts'

interface FactsProps {
  readonly webhook: Webhook
  readonly reader: Reader
}

/** The members of a webhook. */
export function WebhookFacts({ webhook, reader }: FactsProps) {
  const { health, pausedReason, formerSecretUntil, deals, types } = webhook
  const time = (value: string | null) => <Time time={value} reader={reader} />
  const facts: readonly Fact[] = [
    ['Description', webhook.description],
    ['Types of events', types.length === 0 ? 'all types' : types.join(', ')],
    ['Only these deals', deals.join(', ')],
    ['Paused because', pausedReason && (texts.pausedReasons[pausedReason] ?? pausedReason)],
    ['Last delivered', time(health.lastSuccessAt)],
    ['Last failed', health.lastFailureAt && <Failure health={health} reader={reader} />],
    ['Deals that wait for a retry', health.blockedDeals > 0 ? reader.number(health.blockedDeals) : null],
    [
      'Oldest event that waits',
      health.lagSeconds === 0 ? 'none waits' : `${reader.number(Math.round(health.lagSeconds))} s old`,
    ],
    ['The former secret signs until', formerSecretUntil && time(formerSecretUntil)],
    ['Position', <code>{webhook.position}</code>],
    ['Responsible', webhook.responsible],
    ['Created', time(webhook.createdAt)],
    ['By', webhook.createdBy],
  ]
  return <Facts facts={facts} />
}

const Failure = ({ health, reader }: Pick<Webhook, 'health'> & { readonly reader: Reader }) => (
  <>
    <Time time={health.lastFailureAt} reader={reader} />{' '}
    {[health.lastFailureStatus, health.lastFailureReason].filter((part) => part !== null).join(' ')}
  </>
)

/** The last attempts, the newest first. */
export function Deliveries({ attempts, reader }: { readonly attempts: readonly Attempt[]; readonly reader: Reader }) {
  const columns: Column<Attempt>[] = [
    { title: 'At', isShort: true, cell: ({ at }) => <Time time={at} reader={reader} /> },
    { title: 'Type', cell: ({ type }) => type },
    {
      title: 'Outcome',
      isShort: true,
      cell: ({ outcome }) => (
        <span class={outcome === 'delivered' ? 'badge good' : 'badge bad'}>{texts.outcomes[outcome]}</span>
      ),
    },
    {
      title: 'Status',
      cell: ({ status, reason }) => [status, reason].filter((part) => part !== null).join(' ') || '–',
    },
    { title: 'Attempt', isNumber: true, cell: ({ attempt }) => String(attempt) },
    {
      title: 'Took',
      isNumber: true,
      cell: ({ durationMs }) => `${reader.number(durationMs)} ms`,
    },
    {
      title: 'Deal',
      cell: ({ deal }) => (deal === null ? '–' : <a href={pathOfDeal(deal)}>{deal.slice(-12)}</a>),
    },
  ]
  return <Table caption="Deliveries" columns={columns} rows={attempts} empty="Nothing was sent yet." />
}
