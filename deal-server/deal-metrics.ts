import type { Metrics } from '../shared/platform/metrics/metrics.ts'
import type { KeyStores } from './auth-client/key-stores.ts'
import type { PrincipalFeed } from './auth-client/principal-feed.ts'
import type { EventStreams } from './events/event-streams.ts'

/** The parts that the metrics of the deal server read. */
export interface DealMetricsParts {
  readonly keys: KeyStores
  /** Undefined where no feed can be heard. */
  readonly feed: Pick<PrincipalFeed, 'ageMs'> | undefined
  readonly events: Pick<EventStreams, 'health'>
}

/** Registers the gauges that only deal servers have: public keys, change feed and event streams. */
export function observeDealServer(metrics: Metrics, { keys, feed, events }: DealMetricsParts): void {
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
  metrics.gauge(
    { name: 'event_lag_seconds', help: 'How long events have been held back by an older transaction.' },
    'deal',
    () => [{ value: events.health().lagMs / 1000 }],
  )
}
