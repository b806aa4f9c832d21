/** The state of a webhook, and its last deliveries. */
import type { Child } from 'hono/jsx'
import { type Column, Table, Time } from '../frame/content.tsx'
import type { Reader } from '../frame/reader.ts'
import { pathOfDeal } from '../parts/deal-parts.tsx'
import { webhookTexts as texts } from '../texts/webhooks.ts'
import type { Attempt, Webhook } from './shapes.ts'

interface FactsProps {
  readonly webhook: Webhook
  readonly reader: Reader
}

/** The members of a webhook. Those that say nothing are left out. */
export function Facts({ webhook, reader }: FactsProps) {
  const { health, pausedReason, formerSecretUntil, deals, types } = webhook
  const time = (value: string | null) => <Time time={value} reader={reader} />
  const facts: readonly (readonly [string, Child] | false)[] = [
    webhook.description !== null && ['Description', webhook.description],
    ['Types of events', types.length === 0 ? 'all types' : types.join(', ')],
    deals.length > 0 && ['Only these deals', deals.join(', ')],
    pausedReason !== null && ['Paused because', texts.pausedReasons[pausedReason] ?? pausedReason],
    ['Last delivered', time(health.lastSuccessAt)],
    health.lastFailureAt !== null && ['Last failed', <Failure health={health} reader={reader} />],
    health.blockedDeals > 0 && ['Deals that wait for a retry', reader.number(health.blockedDeals)],
    [
      'Oldest event that waits',
      health.lagSeconds === 0 ? 'none waits' : `${reader.number(Math.round(health.lagSeconds))} s old`,
    ],
    formerSecretUntil !== null && ['The former secret signs until', time(formerSecretUntil)],
    ['Position', <code>{webhook.position}</code>],
    ['Responsible', webhook.responsible],
    ['Created', time(webhook.createdAt)],
    ['By', webhook.createdBy],
  ]
  return (
    <dl class="facts">
      {facts
        .filter((fact) => fact !== false)
        .map(([title, value]) => (
          <>
            <dt>{title}</dt>
            <dd>{value}</dd>
          </>
        ))}
    </dl>
  )
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
