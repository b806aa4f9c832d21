import type { Clock } from '../shared/platform/clock.ts'
import type { Metrics } from '../shared/platform/metrics/metrics.ts'
import type { ChainedLog } from './audit/chained-log.ts'
import type { KeyRing } from './key-ring/key-ring.ts'
import { keyUses } from './key-ring/keyring-file.ts'
import type { PrincipalPublisher } from './users/principal-publisher.ts'

/** The parts of the auth server that its own metrics read. */
export interface AuthMetricsParts {
  readonly keyRing: Pick<KeyRing, 'status' | 'problem'>
  readonly publisher: Pick<PrincipalPublisher, 'health'>
  readonly audit: Pick<ChainedLog, 'head'>
  readonly clock: Clock
}

const states = ['pending', 'active', 'retired'] as const

/** Adds gauges of the key ring, the change feed of principals and the audit log. */
export function observeAuthServer(metrics: Metrics, { keyRing, publisher, audit, clock }: AuthMetricsParts): void {
  metrics.gauge(
    { name: 'key_ring_problem', help: '1 while what is in KEYS_DIR cannot be used, and the former ring stays.' },
    'auth',
    () => [{ value: keyRing.problem() === undefined ? 0 : 1 }],
  )
  metrics.gauge({ name: 'keys', help: 'Keys of the ring.', labels: ['use', 'state'] }, 'auth', () => {
    const keys = keyRing.status()
    return keyUses.flatMap((use) =>
      states.map((state) => {
        const value = keys.filter((key) => key.use === use && key.state === state).length
        return { labels: { use, state }, value }
      }),
    )
  })
  metrics.gauge({ name: 'active_key_age_seconds', help: 'How long the key has signed.', labels: ['use'] }, 'auth', () =>
    keyRing
      .status()
      .filter(({ state }) => state === 'active')
      .map(({ use, activatedAt }) => ({
        labels: { use },
        value: (clock.now() - Date.parse(activatedAt ?? '')) / 1000,
      })),
  )
  metrics.gauge(
    { name: 'principal_feed_age_seconds', help: 'Age of the principal feed, in seconds since its last heartbeat.' },
    'auth',
    () => [{ value: (publisher.health().ageMs ?? Number.POSITIVE_INFINITY) / 1000 }],
  )
  metrics.gauge({ name: 'audit_entries', help: 'Entries of the audit log.' }, 'auth', async () => [
    { value: (await audit.head()).count },
  ])
}
