/** How a webhook stands, and its last deliveries. */
import type { Child } from 'hono/jsx'
import { type Column, Table, Time } from '../frame/content.tsx'
import type { Reader } from '../frame/reader.ts'
import { pathOfDeal } from '../parts/deal-parts.tsx'
import { webhookTexts as texts } from '../texts/webhooks.ts'
import type { Attempt, Webhook } from './shapes.ts'

interface FactsParts {
  readonly webhook: Webhook
  readonly reader: Reader
}

/** The members of a webhook. Those that say nothing are left out. */
export function Facts({ webhook, reader }: FactsParts) {
  const { health, pausedReason, formerSecretUntil, deals, types } = webhook
  const time = (value: string | null) => <Time time={value} reader={reader} />
  const facts: readonly (readonly [string, Child] | false)[] = [
    webhook.description !== null && [texts.description, webhook.description],
    [texts.types, types.length === 0 ? texts.allTypes : types.join(', ')],
    deals.length > 0 && [texts.deals, deals.join(', ')],
    pausedReason !== null && [texts.pausedReason, texts.pausedReasons[pausedReason] ?? pausedReason],
    [texts.lastSuccess, time(health.lastSuccessAt)],
    health.lastFailureAt !== null && [texts.lastFailure, <Failure health={health} reader={reader} />],
    health.blockedDeals > 0 && [texts.blocked, reader.number(health.blockedDeals)],
    [texts.lag, health.lagSeconds === 0 ? texts.lagNone : texts.seconds(reader.number(Math.round(health.lagSeconds)))],
    formerSecretUntil !== null && [texts.formerSecret, time(formerSecretUntil)],
    [texts.position, <code>{webhook.position}</code>],
    [texts.responsible, webhook.responsible],
    [texts.createdAt, time(webhook.createdAt)],
    [texts.createdBy, webhook.createdBy],
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
    { title: texts.at, isShort: true, cell: ({ at }) => <Time time={at} reader={reader} /> },
    { title: texts.type, cell: ({ type }) => type },
    {
      title: texts.outcome,
      isShort: true,
      cell: ({ outcome }) => (
        <span class={outcome === 'delivered' ? 'badge good' : 'badge bad'}>{texts.outcomes[outcome]}</span>
      ),
    },
    {
      title: texts.status,
      cell: ({ status, reason }) => [status, reason].filter((part) => part !== null).join(' ') || '–',
    },
    { title: texts.attempt, isNumber: true, cell: ({ attempt }) => String(attempt) },
    {
      title: texts.duration,
      isNumber: true,
      cell: ({ durationMs }) => texts.milliseconds(reader.number(durationMs)),
    },
    {
      title: texts.deal,
      cell: ({ deal }) => (deal === null ? '–' : <a href={pathOfDeal(deal)}>{deal.slice(-12)}</a>),
    },
  ]
  return <Table caption={texts.deliveries} columns={columns} rows={attempts} empty={texts.deliveriesNone} />
}
