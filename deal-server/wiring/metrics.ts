import type { Metrics } from '../../shared/platform/metrics/metrics.ts'
import { outcomeOfError } from '../../shared/platform/metrics/outcomes.ts'
import { countPairs } from '../../shared/platform/metrics/pair-counts.ts'
import type { KeyStores } from '../../verify/src/keys/key-stores.ts'
import type { PrincipalFeed } from '../../verify/src/principals/principal-feed.ts'
import type { ProposedCommand, ShownCommand } from '../commands/command-context.ts'
import type { CommandSystems } from '../commands/command-systems.ts'
import { ReplayedRefusal } from '../commands/replay.ts'
import type { EventStreams } from '../events/event-streams.ts'
import type { Attempt } from '../webhooks/ports.ts'
import type { Webhooks } from '../webhooks/webhooks.ts'

/** What readiness and metrics of the deal server look at. */
export interface WatchedServices {
  readonly keys: KeyStores
  /** Undefined where no feed can be heard. */
  readonly feed: PrincipalFeed | undefined
  readonly events: EventStreams
  readonly webhooks: Webhooks
}

/** Counts the attempts to deliver events to webhooks. */
export function countDeliveries(metrics: Metrics): (attempt: Attempt) => void {
  const counter = metrics.counter({
    name: 'webhook_deliveries_total',
    help: 'Attempts to deliver an event to a webhook.',
    labels: ['outcome'],
  })
  for (const outcome of ['delivered', 'failed']) counter.inc({ server: 'deal', outcome }, 0)
  return ({ outcome }) => counter.inc({ server: 'deal', outcome })
}

/** Counts commands by use case and outcome. What is refused before a command is known counts as a request alone. */
export function countCommands(metrics: Metrics, useCases: readonly string[]): CommandSystems['observeCommand'] {
  const count = countPairs(metrics, 'deal', {
    name: 'commands_total',
    help:
      'Commands by use case and outcome: succeeded, unchanged, proposed, dry-run, replayed (a stored outcome), ' +
      'unavailable, error, or the code of the refusal.',
    labels: ['use_case', 'outcome'],
    begin: useCases.map((name) => [name, 'succeeded']),
  })
  return ({ bound, validateOnly }, settled) =>
    count(bound.name, 'error' in settled ? outcomeOfRefusal(settled.error) : outcomeOf(settled.command, validateOnly))
}

const outcomeOfRefusal = (error: unknown): string =>
  error instanceof ReplayedRefusal ? 'replayed' : outcomeOfError(error)

const outcomeOf = (command: ShownCommand | ProposedCommand, validateOnly: boolean): string => {
  if ('proposal' in command) return 'proposed'
  const { replayed, changed } = command
  return replayed ? 'replayed' : validateOnly ? 'dry-run' : changed ? 'succeeded' : 'unchanged'
}

/** Registers the gauges that only deal servers have: public keys, change feed and event streams. */
export function observeDealServer(metrics: Metrics, { keys, feed, events, webhooks }: WatchedServices): void {
  const stores = [
    ['jwt', keys.jwt],
    ['key-signed', keys.keySigned],
  ] as const
  metrics.gauge({ name: 'held_keys', help: 'Public keys that tokens are checked with.', labels: ['use'] }, 'deal', () =>
    stores.map(([use, store]) => ({ labels: { use }, value: store.size() })),
  )
  metrics.gauge(
    { name: 'held_keys_age_seconds', help: 'Time since the key document was loaded.', labels: ['use'] },
    'deal',
    () => stores.map(([use, store]) => ({ labels: { use }, value: store.ageMs() / 1000 })),
  )
  metrics.gauge(
    { name: 'principal_feed_age_seconds', help: 'Age of the principal feed, in seconds since its last heartbeat.' },
    'deal',
    () => (feed ? [{ value: feed.ageMs() / 1000 }] : []),
  )
  metrics.gauge({ name: 'event_streams', help: 'Streams of events that are open.' }, 'deal', () => [
    { value: events.health().streams },
  ])
  metrics.gauge({ name: 'event_lag_seconds', help: 'How long committed events have not been shown.' }, 'deal', () => [
    { value: events.health().lagMs / 1000 },
  ])
  observeWebhooks(metrics, webhooks)
}

function observeWebhooks(metrics: Metrics, webhooks: Webhooks): void {
  metrics.gauge({ name: 'webhooks', help: 'Webhooks, by their state.', labels: ['state'] }, 'deal', () => {
    const { active, paused } = webhooks.health()
    return [
      { labels: { state: 'active' }, value: active },
      { labels: { state: 'paused' }, value: paused },
    ]
  })
  metrics.gauge(
    { name: 'webhook_lag_seconds', help: 'Age of the oldest event that this server has still to deliver.' },
    'deal',
    () => [{ value: webhooks.health().lagMs / 1000 }],
  )
}
