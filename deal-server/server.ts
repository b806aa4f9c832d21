/** The composition root of the deal server: only this file knows all parts, in production and in tests. */

import type { Cache } from '../shared/platform/cache/cache.ts'
import type { Clock } from '../shared/platform/clock.ts'
import { type Database, databaseWrites } from '../shared/platform/database/database.ts'
import { createHousekeeping, type Housekeeping } from '../shared/platform/database/housekeeping.ts'
import { createCors } from '../shared/platform/http/cors.ts'
import { createCursors, cursorKeyOf } from '../shared/platform/http/pagination/cursors.ts'
import type { Draining } from '../shared/platform/http/server/drain.ts'
import { type Dependency, healthRoutes } from '../shared/platform/http/server/health.ts'
import type { Route } from '../shared/platform/http/server/routes.ts'
import type { IdSource } from '../shared/platform/ids.ts'
import type { Log } from '../shared/platform/log/log.ts'
import { createMetrics, type Metrics } from '../shared/platform/metrics/metrics.ts'
import { observeRequests } from '../shared/platform/metrics/request-metrics.ts'
import { metricsRoute } from '../shared/platform/metrics/serve-metrics.ts'
import { Unavailable } from '../shared/platform/problems/errors.ts'
import { corsFields } from '../shared/protocol/authentication/cors-fields.ts'
import { trustedOrigins } from '../shared/protocol/authentication/cross-site.ts'
import { observeAuthentications } from '../shared/protocol/metrics/authentication-metrics.ts'
import { observeServer } from '../shared/protocol/metrics/server-metrics.ts'
import { documentationRoutes } from '../shared/protocol/pages/routes.ts'
import { createHashingPermits } from '../shared/protocol/passwords/hashing-permits.ts'
import { createApiKeyStore } from './auth-client/api-key-store.ts'
import { type AuthClient, createAuthClient } from './auth-client/auth-client.ts'
import { createKeyStores, type KeyStores } from './auth-client/key-stores.ts'
import { createPrincipalFeed, type PrincipalFeed } from './auth-client/principal-feed.ts'
import { createPrincipalRecords } from './auth-client/principal-records.ts'
import { createRefusalReports, type RefusalReports } from './auth-client/report-refusals.ts'
import { createExecuteCommand } from './commands/execute.ts'
import { createFindAssignableUsers, createFindUserId } from './commands/find-assignable-users.ts'
import type { DealConfig } from './config.ts'
import { observeDealServer } from './deal-metrics.ts'
import { createEventStreams, type EventStreams, type EventStreamsOptions } from './events/event-streams.ts'
import { createWakeUps, type WakeUps } from './events/wake-ups.ts'
import { createDealApp } from './http/app.ts'
import { representEvent } from './http/representations/represent-event.ts'
import { createDealAuthentication } from './schemes.ts'
import { createDealRepository } from './store/deals.ts'
import { createEventLog } from './store/event-log.ts'
import { dealHousekeepingJobs } from './store/housekeeping.ts'

/** The parts that differ between production and tests. */
export interface DealResources {
  readonly database: Database
  readonly cache: Cache
  readonly clock: Clock
  readonly ids: IdSource
  readonly log: Log
  /** The metrics of the process; new ones when left out. */
  readonly metrics?: Metrics
  /** Shows that the process is about to end. */
  readonly draining?: Pick<Draining, 'hasBegun'>
  /** The current SERVICE_SECRET. */
  readonly serviceSecret: string
  readonly fetch?: typeof globalThis.fetch
  /** Times and sizes of event streams, if they differ from the defaults. */
  readonly eventStreams?: Partial<EventStreamsOptions>
}

/** Makes a deal server. It does not listen yet. */
export function createDealServer(config: DealConfig, resources: DealResources) {
  const { database, cache, clock, ids, log, serviceSecret, metrics = createMetrics() } = resources
  const serviceSecrets = config.serviceSecrets ?? [serviceSecret]
  const followed = followAuthServer(config, resources)
  const { authClient, keys, feed, principals } = followed
  const withPermit = createHashingPermits({ concurrency: config.hashConcurrency })
  const refusalReports = createRefusalReports({ authClient, clock, log })
  const { authenticate, recheck } = createDealAuthentication(config, {
    database,
    cache,
    clock,
    ids,
    ...followed,
    withPermit,
    noteRefusal: refusalReports.note,
    serviceSecret,
    serviceSecrets,
    observe: observeAuthentications(metrics, 'deal'),
  })
  const { events, wakeUps } = createLiveEvents(config, resources, feed)
  const housekeeping = createHousekeeping({ database, clock, log, name: 'deals', jobs: dealHousekeepingJobs })
  const heard = config.hasFeed ? feed : undefined
  const dependencies = dependenciesOf(resources, { keys, feed: heard, events })
  observeServer(metrics, 'deal', { dependencies, housekeeping, hashing: () => withPermit.load() })
  observeDealServer(metrics, { keys, feed: heard, events })
  const repository = createDealRepository(database, () => wakeUps.send())
  const findAssignableUsers = createFindAssignableUsers(principals)
  const { defaultCurrency } = config
  const app = createDealApp(config, {
    openRoutes: openRoutes(config, { dependencies, metrics, draining: resources.draining }),
    observe: observeRequests(metrics, 'deal'),
    authenticate,
    recheck,
    executeCommand: createExecuteCommand({ repository, findAssignableUsers, clock, ids, defaultCurrency }),
    reader: repository,
    events,
    cursors: createCursors(serviceSecrets.map(cursorKeyOf)),
    findUserId: createFindUserId(principals),
    cors: createCors(trustedOrigins(config), corsFields),
    clock,
    ids,
    log,
  })
  const parts = { authClient, keys, feed, wakeUps, housekeeping, refusalReports }
  return { app, start: () => startParts(parts), stop: () => stopParts(parts) }
}

/** The parts that work in the background. */
interface Parts {
  readonly authClient: Pick<AuthClient, 'stop'>
  readonly keys: KeyStores
  readonly feed: PrincipalFeed
  readonly wakeUps: WakeUps
  readonly housekeeping: Housekeeping
  readonly refusalReports: RefusalReports
}

/** Starts to follow the auth server: its keys and the change feed. Does not wait for an auth server that is down. */
async function startParts({ feed, keys, wakeUps, housekeeping }: Parts): Promise<void> {
  await Promise.all([feed.start(), keys.refresh(), wakeUps.start()])
  keys.start()
  housekeeping.start()
}

async function stopParts({ authClient, keys, feed, wakeUps, housekeeping, refusalReports }: Parts): Promise<void> {
  keys.stop()
  await refusalReports.stop()
  await wakeUps.stop()
  await housekeeping.stop()
  await feed.stop()
  authClient.stop()
}

/** The event streams, and the wake-ups between deal servers. */
function createLiveEvents(
  { eventStreams }: Pick<DealConfig, 'eventStreams'>,
  { database, cache, clock, ids, log: logger, eventStreams: others }: DealResources,
  feed: Pick<PrincipalFeed, 'instanceId'>,
) {
  const ports = { log: createEventLog(database), represent: representEvent, clock, logger }
  const events = createEventStreams(ports, { ...eventStreams, ...others })
  const wakeUps = createWakeUps({ cache, ids, instanceId: () => feed.instanceId(), onWakeUp: events.wakeUp })
  return { events, wakeUps }
}

/** The parts that the routes without authentication show. */
interface OpenRoutesParts {
  readonly draining: DealResources['draining']
  readonly dependencies: readonly Dependency[]
  readonly metrics: Metrics
}

const openRoutes = (
  { metricsPort, publicOrigins, schemes, expiredTokenStatus }: DealConfig,
  { dependencies, metrics, draining }: OpenRoutesParts,
): Route[] => [
  ...healthRoutes(dependencies, draining),
  ...(metricsPort === undefined ? [metricsRoute(metrics)] : []),
  ...documentationRoutes({ server: 'deal', publicOrigins, schemes, expiredTokenStatus }),
]

/** The data of the auth server, kept fresh: its keys, principals and API keys. */
function followAuthServer(
  { authUrl, recordMaxAgeMs, schemes }: Pick<DealConfig, 'authUrl' | 'recordMaxAgeMs' | 'schemes'>,
  resources: DealResources,
) {
  const { cache, clock, ids, log, serviceSecret: secret, fetch = globalThis.fetch } = resources
  const onPublishedKeys = (published: string) => keys.onPublishedKeys(published)
  const authClient = createAuthClient({
    ...{ authUrl, secret, clock, ids, fetch, onPublishedKeys },
    followed: () => feed.instanceId(),
    onInstance: (instanceId, before) => feed.observeInstance(instanceId, before),
  })
  const keys: KeyStores = createKeyStores({ authClient, schemes, clock, log })
  const feed: PrincipalFeed = createPrincipalFeed({ cache, authClient, clock, log })
  feed.onPublishedKeys(onPublishedKeys)
  const principals = createPrincipalRecords({ feed, cache, authClient, clock, recordMaxAgeMs })
  const apiKeys = createApiKeyStore({ authClient, principals, clock, log, secret })
  return { authClient, keys, apiKeys, feed, principals }
}

function dependenciesOf(
  { database, cache }: Pick<DealResources, 'database' | 'cache'>,
  { keys, feed, events }: { keys: KeyStores; feed: PrincipalFeed | undefined; events: EventStreams },
): Dependency[] {
  return [
    { name: 'database', required: true, check: () => database.ping() },
    { name: databaseWrites, required: false, check: () => database.checkWrites() },
    { name: 'cache', required: false, check: () => cache.ping() },
    { name: 'keys', required: true, check: () => requireThat(keys.areThere(), 'keys') },
    ...(feed ? [{ name: 'principal-feed', required: false, check: () => requireCurrent(feed) }] : []),
    { name: 'events', required: false, check: events.check },
  ]
}

const requireCurrent = (feed: PrincipalFeed): void => requireThat(feed.isCurrent(), 'principal-feed')

function requireThat(condition: boolean, dependency: string): void {
  if (!condition) throw new Unavailable(dependency)
}
