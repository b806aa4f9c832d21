import type { Metrics } from '../../shared/platform/metrics/metrics.ts'
import { outcomeOfError } from '../../shared/platform/metrics/outcomes.ts'
import { countPairs } from '../../shared/platform/metrics/pair-counts.ts'
import type { ApiKeys } from '../api-keys/api-keys.ts'
import type { ChainedLog } from '../audit/chained-log.ts'
import type { KeyRing } from '../key-ring/key-ring.ts'
import { keyUses } from '../key-ring/keyring-file.ts'
import { type LifeCycleRules, nextSteps } from '../key-ring/life-cycle.ts'
import type { Logins } from '../logins/create-logins.ts'
import { maxServices } from '../services/service.ts'
import type { AuthSystems } from '../systems/auth-systems.ts'

/** What the metrics of the auth server look at. */
interface WatchedServices extends AuthSystems {
  readonly keyRing: KeyRing
  readonly audit: ChainedLog
  readonly apiKeys: ApiKeys
}

const states = ['pending', 'active', 'retired'] as const

/** Adds gauges of the key ring, the change feed of principals and the audit log. */
export function observeAuthServer(
  { metrics, clock, publisher, keyRing, audit, apiKeys }: WatchedServices,
  keyRules: LifeCycleRules,
): void {
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
    {
      name: 'key_step_due_timestamp_seconds',
      help: 'When the next step of the keys of a use is due (generate, promote, remove), in seconds since 1970.',
      labels: ['use', 'step'],
    },
    'auth',
    // The earliest step is the last one that is set.
    () =>
      nextSteps({ keys: keyRing.status() }, keyRules)
        .toReversed()
        .map(({ use, do: step, dueAt }) => ({ labels: { use, step }, value: dueAt / 1000 })),
  )
  metrics.gauge(
    { name: 'principal_feed_age_seconds', help: 'Age of the principal feed, in seconds since its last heartbeat.' },
    'auth',
    () => [{ value: (publisher.health().ageMs ?? Number.POSITIVE_INFINITY) / 1000 }],
  )
  metrics.gauge(
    { name: 'api_keys_expiring_soon', help: 'API keys that expire within 14 days and were not revoked.' },
    'auth',
    async () => [{ value: await apiKeys.countExpiringSoon() }],
  )
  metrics.gauge({ name: 'audit_entries', help: 'Entries of the audit log.' }, 'auth', async () => [
    { value: (await audit.head()).count },
  ])
}

/** Counts logins by kind and outcome: what they issue, and `succeeded` or the reason why they issue nothing. */
export function countLogins<Counted extends Pick<Logins, 'logIn' | 'logInKeySigned' | 'startSession'>>(
  metrics: Metrics,
  logins: Counted,
): Counted {
  const count = countPairs(metrics, 'auth', {
    name: 'logins_total',
    help: 'Logins by what they issue and by outcome: succeeded, unavailable, error, or the code of the refusal.',
    labels: ['kind', 'outcome'],
    begin: ['tokens', 'key-signed-token', 'session'].flatMap(
      (kind) =>
        [
          [kind, 'succeeded'],
          [kind, 'invalid-credentials'],
        ] as const,
    ),
  })
  const counted =
    <Request, Result>(kind: string, logIn: (request: Request) => Promise<Result>) =>
    async (request: Request): Promise<Result> => {
      try {
        const result = await logIn(request)
        count(kind, 'succeeded')
        return result
      } catch (error) {
        count(kind, outcomeOfError(error))
        throw error
      }
    }
  return {
    ...logins,
    logIn: counted('tokens', logins.logIn),
    logInKeySigned: counted('key-signed-token', logins.logInKeySigned),
    startSession: counted('session', logins.startSession),
  }
}

/**
 * Counts requests of services by their ids and outcomes. Ids are made by the server; of more than there can be at a
 * time, those of deleted ones among them, the others are counted together.
 */
export function countServiceRequests(metrics: Metrics): (serviceId: string, outcome: string) => void {
  const count = countPairs(metrics, 'auth', {
    name: 'service_requests_total',
    help: 'Requests of services by id and outcome: succeeded, or the code of the refusal.',
    labels: ['service', 'outcome'],
  })
  const seen = new Set<string>()
  return (serviceId, outcome) => {
    if (seen.size < maxServices) seen.add(serviceId)
    count(seen.has(serviceId) ? serviceId : 'other', outcome)
  }
}
