/** The composition root of the deal server: the one place that sees all its parts, in production and in tests. */

import type { Cache } from '../shared/platform/cache/cache.ts'
import type { Clock } from '../shared/platform/clock.ts'
import type { Database } from '../shared/platform/database/database.ts'
import { createHousekeeping } from '../shared/platform/database/housekeeping.ts'
import { createCors } from '../shared/platform/http/cors.ts'
import { createCursors, cursorKeyOf } from '../shared/platform/http/pagination/cursors.ts'
import type { Draining } from '../shared/platform/http/server/draining.ts'
import { type Dependency, healthRoutes } from '../shared/platform/http/server/health.ts'
import type { Route } from '../shared/platform/http/server/routes.ts'
import type { IdSource } from '../shared/platform/ids.ts'
import type { Log } from '../shared/platform/log/log.ts'
import { createMetrics, type Metrics } from '../shared/platform/metrics/metrics.ts'
import { observeRequests } from '../shared/platform/metrics/request-metrics.ts'
import { metricsRoute } from '../shared/platform/metrics/serve-metrics.ts'
import { Unavailable } from '../shared/platform/problems/errors.ts'
import { createAuthentication } from '../shared/protocol/authentication/authenticate.ts'
import { corsFields } from '../shared/protocol/authentication/cors-fields.ts'
import { createCrossSiteRule, trustedOrigins } from '../shared/protocol/authentication/cross-site.ts'
import { createUsedSignatures } from '../shared/protocol/authentication/signed-request/used-signatures.ts'
import { createGuesses } from '../shared/protocol/login-throttle/count-attempts.ts'
import { observeAuthentications } from '../shared/protocol/metrics/authentication-metrics.ts'
import { observeServer } from '../shared/protocol/metrics/server-metrics.ts'
import { documentationRoutes } from '../shared/protocol/pages/routes.ts'
import { createHashingPermits } from '../shared/protocol/passwords/hashing-permits.ts'
import { createApiKeyStore } from './auth-client/api-key-store.ts'
import { createAuthClient } from './auth-client/auth-client.ts'
import { createHeldSessions } from './auth-client/cached-sessions.ts'
import { createKeyStores, type KeyStores } from './auth-client/key-stores.ts'
import { createPrincipalFeed, type PrincipalFeed } from './auth-client/principal-feed.ts'
import { createPrincipalRecords } from './auth-client/principal-records.ts'
import { createRefusalReports } from './auth-client/report-refusals.ts'
import { createExecuteCommand } from './commands/execute.ts'
import { createFindEmployees, createFindUserId } from './commands/find-employees.ts'
import type { DealConfig } from './config.ts'
import { observeDealServer } from './deal-metrics.ts'
import { createEventStreams, type EventStreams, type EventStreamsOptions } from './events/event-streams.ts'
import { createNudges } from './events/nudges.ts'
import { createDealApp } from './http/app.ts'
import { representEvent } from './http/representations/represent-event.ts'
import { createDealSchemes } from './schemes.ts'
import { createDealRepository } from './store/deals.ts'
import { createEventLog } from './store/event-log.ts'
import { dealHousekeepingJobs } from './store/housekeeping.ts'

/** What differs between production and tests. */
export interface DealResources {
  readonly database: Database
  readonly cache: Cache
  readonly clock: Clock
  readonly ids: IdSource
  readonly log: Log
  /** Of the process; its own when left out. */
  readonly metrics?: Metrics
  /** Whether the process has been told to end. */
  readonly draining?: Pick<Draining, 'hasBegun'>
  /** SERVICE_SECRET: the one that is used. */
  readonly serviceSecret: string
  readonly fetch?: typeof globalThis.fetch
  /** Times and sizes of event streams other than the usual ones. */
  readonly eventStreams?: Partial<EventStreamsOptions>
}

/** A deal server that does not listen yet. */
export function createDealServer(config: DealConfig, resources: DealResources) {
  const { database, clock, ids, log, serviceSecret, metrics = createMetrics() } = resources
  const parts = createParts(config, resources, metrics)
  const { authClient, keys, feed, principals, events, nudges, housekeeping, refusalReports, authenticate, recheck } =
    parts
  const repository = createDealRepository(database, () => nudges.send())
  const app = createDealApp(config, {
    openRoutes: openRoutes(config, resources, { ...parts, metrics }),
    observe: observeRequests(metrics, 'deal'),
    authenticate,
    recheck,
    executeCommand: createExecuteCommand({
      repository,
      findEmployees: createFindEmployees(principals),
      clock,
      ids,
      defaultCurrency: config.defaultCurrency,
    }),
    reader: repository,
    events,
    cursors: createCursors((config.serviceSecrets ?? [serviceSecret]).map(cursorKeyOf)),
    findUserId: createFindUserId(principals),
    cors: createCors(trustedOrigins(config), corsFields),
    clock,
    ids,
    log,
  })
  return {
    app,
    /** Follows the auth server: its keys and the feed of principals. Does not wait for an auth server that is not there yet. */
    start: async () => {
      await Promise.all([feed.start(), keys.refresh(), nudges.start()])
      keys.start()
      housekeeping.start()
    },
    stop: async () => {
      keys.stop()
      await refusalReports.stop()
      await nudges.stop()
      await housekeeping.stop()
      await feed.stop()
      authClient.stop()
    },
  }
}

type Parts = ReturnType<typeof createParts>

/** What the surface rests on, put together. */
function createParts(config: DealConfig, resources: DealResources, metrics: Metrics) {
  const { database, cache, clock, ids, log, serviceSecret, eventStreams } = resources
  const secrets = config.serviceSecrets ?? [serviceSecret]
  const followed = followAuthServer(config, resources)
  const { authClient, keys, feed, principals } = followed
  const withPermit = createHashingPermits({ concurrency: config.hashConcurrency })
  const guesses = createGuesses({ cache, clock, ids, limits: config.loginFailures, secrets })
  const sessions = createHeldSessions({ ...config, feed, principals, authClient, cache, clock })
  const useSignature = createUsedSignatures(resources, 'deals')
  const refusalReports = createRefusalReports({ authClient, clock, log })
  const noteRefusal = refusalReports.note
  const schemePorts = { ...resources, ...followed, guesses, noteRefusal, withPermit, sessions, useSignature }
  const authentication = createAuthentication({
    schemes: createDealSchemes(config, schemePorts),
    principals,
    refuseCrossSite: createCrossSiteRule(config),
    clock,
    handsOnReusedSignatures: true,
    observe: observeAuthentications(metrics, 'deal'),
  })
  const eventLog = createEventLog(database)
  const streamOptions = { ...config.eventStreams, ...eventStreams }
  const events = createEventStreams({ log: eventLog, represent: representEvent, clock, logger: log }, streamOptions)
  const nudges = createNudges({ cache, ids, installationId: () => feed.installationId(), onNudge: events.nudge })
  const housekeeping = createHousekeeping({ database, clock, log, name: 'deals', jobs: dealHousekeepingJobs })
  const dependencies = dependenciesOf(resources, { keys, feed, events })
  observeServer(metrics, 'deal', { dependencies, housekeeping, hashing: () => withPermit.load() })
  observeDealServer(metrics, { keys, feed, events })
  return { ...followed, ...authentication, events, nudges, housekeeping, dependencies, refusalReports }
}

const openRoutes = (
  config: DealConfig,
  { draining }: DealResources,
  { dependencies, metrics }: Parts & { readonly metrics: Metrics },
): Route[] => [
  ...healthRoutes(dependencies, draining),
  ...(config.metricsPort === undefined ? [metricsRoute(metrics)] : []),
  ...documentationRoutes({ ...config, server: 'deal' }),
]

/** What this server knows of the auth server: its keys and its principals, kept fresh. */
function followAuthServer({ authUrl, recordMaxAgeMs, schemes }: DealConfig, resources: DealResources) {
  const { cache, clock, ids, log, serviceSecret: secret, fetch = globalThis.fetch } = resources
  const onPublishedKeys = (published: string) => keys.onPublishedKeys(published)
  const authClient = createAuthClient({ authUrl, secret, clock, ids, fetch, onPublishedKeys })
  const keys: KeyStores = createKeyStores({ authClient, schemes, clock, log })
  const feed = createPrincipalFeed({ cache, authClient, clock, log })
  feed.onPublishedKeys(onPublishedKeys)
  const principals = createPrincipalRecords({ feed, cache, authClient, clock, recordMaxAgeMs })
  const apiKeys = createApiKeyStore({ authClient, principals, clock, log, secret })
  return { authClient, keys, apiKeys, feed, principals }
}

function dependenciesOf(
  { database, cache }: DealResources,
  { keys, feed, events }: { keys: KeyStores; feed: PrincipalFeed; events: EventStreams },
): Dependency[] {
  return [
    { name: 'database', required: true, check: () => database.ping() },
    { name: 'cache', required: false, check: () => cache.ping() },
    { name: 'keys', required: true, check: () => requireThat(keys.areThere(), 'keys') },
    { name: 'principal-feed', required: false, check: () => requireThat(feed.isCurrent(), 'principal-feed') },
    { name: 'events', required: false, check: events.check },
  ]
}

function requireThat(condition: boolean, dependency: string): void {
  if (!condition) throw new Unavailable(dependency)
}
