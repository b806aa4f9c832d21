/** The composition root of the deal server: only this file knows all parts, in production and in tests. */

import { createHashingPermits } from '../shared/platform/crypto/hashing-permits.ts'
import { createHousekeeping, type Housekeeping } from '../shared/platform/database/housekeeping.ts'
import { createCors } from '../shared/platform/http/cors.ts'
import { createCursors, cursorKeyOf } from '../shared/platform/http/pagination/cursors.ts'
import type { Draining } from '../shared/platform/http/server/drain.ts'
import { type Dependency, healthRoutes } from '../shared/platform/http/server/health.ts'
import type { Route } from '../shared/platform/http/server/routes.ts'
import type { Metrics } from '../shared/platform/metrics/metrics.ts'
import { observeRequests } from '../shared/platform/metrics/request-metrics.ts'
import { metricsRoute } from '../shared/platform/metrics/serve-metrics.ts'
import { projectVersion } from '../shared/platform/project-folder.ts'
import type { Systems } from '../shared/platform/systems/systems.ts'
import type { Principals } from '../shared/protocol/authentication/authenticate.ts'
import { corsFields } from '../shared/protocol/authentication/cors-fields.ts'
import { trustedOrigins } from '../shared/protocol/authentication/cross-site.ts'
import { questionOf } from '../shared/protocol/internal-api/exchange.ts'
import { webhookPausesExchange } from '../shared/protocol/internal-api/webhook-pauses.ts'
import { observeAuthentications } from '../shared/server/metrics/authentication-metrics.ts'
import { observeServer } from '../shared/server/metrics/server-metrics.ts'
import type { Console } from '../shared/server/pages/console.ts'
import { documentationRoutes } from '../shared/server/pages/routes.ts'
import type { AuthClient } from '../verify/src/auth-client/auth-client.ts'
import type { PrincipalFeed } from '../verify/src/principals/principal-feed.ts'
import type { ServiceAuthentication } from '../verify/src/service/service-authentication.ts'
import { askForRecentProof } from './auth-client/ask-for-recent-proof.ts'
import { createRightsDeclaration, type RightsDeclaration } from './auth-client/declare-rights.ts'
import { type ChangeReports, createChangeReports } from './auth-client/report-changes.ts'
import { createRefusalReports, type RefusalReports } from './auth-client/report-refusals.ts'
import { createExecuteCommand } from './commands/execute.ts'
import { createFindAssignableUsers, createFindUserId } from './commands/find-assignable-users.ts'
import type { DealConfig } from './config.ts'
import type { EventLog } from './events/event-log.ts'
import { createEventStreams, type EventStreamsOptions } from './events/event-streams.ts'
import { createWakeUps, type WakeUps } from './events/wake-ups.ts'
import { createDealApp } from './http/app.ts'
import { representEvent } from './http/representations/represent-event.ts'
import { resourceMetadataRoute } from './http/resource-metadata.ts'
import { createPurgedEventsJob } from './retention/purged-events.ts'
import { createDealRepository } from './store/deals.ts'
import { createEventLog } from './store/event-log.ts'
import { dealHousekeepingJobs } from './store/housekeeping.ts'
import { createWebhookWork } from './store/webhook-work.ts'
import { createWebhookStore } from './store/webhooks.ts'
import { commands, rightsOfCommands } from './use-cases/index.ts'
import type { UnreportedPause } from './webhooks/ports.ts'
import { createWebhooks, type Webhooks, type WebhookTuning } from './webhooks/webhooks.ts'
import { dependenciesOf } from './wiring/dependencies.ts'
import { countCommands, countDeliveries, observeDealServer } from './wiring/metrics.ts'
import { createDealAuthentication } from './wiring/schemes.ts'

/** The parts that differ between production and tests. */
export interface DealResources extends Systems {
  readonly console: Console
  /** Shows that the process is about to end. */
  readonly draining?: Pick<Draining, 'hasBegun'>
  /** The current SERVICE_SECRET. */
  readonly serviceSecret: string
  readonly fetch?: typeof globalThis.fetch
  /** Times and sizes of event streams, if they differ from the defaults. */
  readonly eventStreams?: Partial<EventStreamsOptions>
  /** The same of webhooks. */
  readonly webhooks?: WebhookTuning
}

const useCaseNames = commands.map(({ name }) => name)

/** A deal server. */
export type DealServer = ReturnType<typeof createDealServer>

/** Makes a deal server. It does not listen yet. */
export function createDealServer(config: DealConfig, given: DealResources) {
  const { tracing } = given
  const resources = { ...given, database: tracing?.database(given.database) ?? given.database }
  const { database, clock, ids, log, serviceSecret, metrics } = resources
  const serviceSecrets = config.serviceSecrets ?? [serviceSecret]
  const withPermit = createHashingPermits({ concurrency: config.hashConcurrency })
  const authentication = createDealAuthentication(config, {
    ...resources,
    fetch: tracedFetch(resources),
    withPermit,
    noteRefusal: (refusal) => refusalReports.note(refusal),
    serviceSecrets,
    observe: observeAuthentications(metrics, 'deal'),
  })
  const { authClient, keys, feed, principals, authenticate, recheck, refuseCrossSite } = authentication
  const { refusalReports, changeReports } = createReports(authClient, resources)
  const rightsDeclaration = createRightsDeclaration(rightsOfCommands, { authClient, log })
  const eventLog = createEventLog(database)
  const webhooks = openWebhooks(config, resources, { authClient, principals, eventLog, metrics, serviceSecrets })
  const { events, wakeUps } = createLiveEvents(config, resources, { feed, eventLog, webhooks })
  const jobs = [...dealHousekeepingJobs, createPurgedEventsJob({ keptDays: config.purgedEventsDays })]
  const housekeeping = createHousekeeping({ database, clock, log, name: 'deals', jobs })
  const watched = { keys, feed: config.hasFeed ? feed : undefined, events, webhooks }
  const dependencies = dependenciesOf(resources, watched)
  observeServer(metrics, 'deal', { dependencies, housekeeping, hashing: () => withPermit.load() })
  observeDealServer(metrics, watched)
  const repository = createDealRepository(database, () => wakeUps.send())
  const findAssignableUsers = createFindAssignableUsers(principals)
  const { defaultCurrency } = config
  const observe = countCommands(metrics, useCaseNames)
  const executeCommand = createExecuteCommand({ repository, findAssignableUsers, clock, ids, defaultCurrency, observe })
  const app = createDealApp(config, {
    openRoutes: openRoutes(config, { dependencies, metrics, draining: resources.draining }),
    observe: observeRequests(metrics, 'deal'),
    trace: tracing?.traceRequest,
    authenticate,
    recheck,
    refuseCrossSite,
    executeCommand,
    batches: config.batches,
    reader: repository,
    events,
    webhooks: webhooks.management,
    requireRecentProof: askForRecentProof({ authClient, serviceSecret }),
    noteWebhookChange: changeReports.note,
    cursors: createCursors(serviceSecrets.map(cursorKeyOf)),
    findUserId: createFindUserId(principals),
    cors: createCors(
      trustedOrigins(config),
      corsFields,
      (_request, origin) => config.tokenOrigins.has('*') || config.tokenOrigins.has(origin),
    ),
    console: resources.console,
    clock,
    ids,
    log,
  })
  const background = { wakeUps, housekeeping, webhooks, rightsDeclaration, refusalReports, changeReports }
  const parts = { authentication, ...background }
  return { app, executeCommand, reader: repository, start: () => startParts(parts), stop: () => stopParts(parts) }
}

/** Requests to the auth server: spans, where traces are sent. */
const tracedFetch = ({ tracing, fetch = globalThis.fetch }: Pick<DealResources, 'tracing' | 'fetch'>) =>
  tracing?.fetch(fetch) ?? fetch

/** What the auth server is told for its audit log. */
const createReports = (authClient: Pick<AuthClient, 'ask'>, { clock, log }: Pick<DealResources, 'clock' | 'log'>) => ({
  refusalReports: createRefusalReports({ authClient, clock, log }),
  changeReports: createChangeReports({ authClient, log }),
})

/** The parts that work in the background. */
interface Parts {
  readonly authentication: Pick<ServiceAuthentication, 'start' | 'stop'>
  readonly wakeUps: WakeUps
  readonly housekeeping: Housekeeping
  readonly refusalReports: RefusalReports
  readonly changeReports: ChangeReports
  readonly webhooks: Webhooks
  readonly rightsDeclaration: RightsDeclaration
}

/** Starts to follow the auth server, and the work in the background. Does not wait for an auth server that is down. */
async function startParts({ authentication, wakeUps, housekeeping, ...parts }: Parts): Promise<void> {
  const { webhooks, rightsDeclaration } = parts
  await Promise.all([authentication.start(), wakeUps.start()])
  housekeeping.start()
  webhooks.start()
  rightsDeclaration.start()
}

async function stopParts({ authentication, wakeUps, housekeeping, ...parts }: Parts): Promise<void> {
  const { refusalReports, changeReports, webhooks, rightsDeclaration } = parts
  await webhooks.stop()
  await rightsDeclaration.stop()
  await refusalReports.stop()
  await changeReports.stop()
  await wakeUps.stop()
  await housekeeping.stop()
  await authentication.stop()
}

/** The event streams, and the wake-ups between deal servers. */
function createLiveEvents(
  { eventStreams, wakeUpPauseMs: pauseMs }: Pick<DealConfig, 'eventStreams' | 'wakeUpPauseMs'>,
  { cache, clock, ids, log: logger, eventStreams: others }: DealResources,
  { feed, eventLog, webhooks }: LiveEventsParts,
) {
  const ports = { log: eventLog, represent: representEvent, clock, logger }
  const events = createEventStreams(ports, { ...eventStreams, ...others })
  const onWakeUp = () => {
    events.wakeUp()
    webhooks.wakeUp()
  }
  const wakeUps = createWakeUps({ cache, ids, instanceId: () => feed.instanceId(), onWakeUp, pauseMs })
  return { events, wakeUps }
}

interface LiveEventsParts {
  readonly feed: Pick<PrincipalFeed, 'instanceId'>
  readonly eventLog: EventLog
  readonly webhooks: Pick<Webhooks, 'wakeUp'>
}

/** What webhooks use of the other parts. */
interface WebhookParts {
  readonly authClient: Pick<AuthClient, 'ask'>
  readonly principals: Principals
  readonly eventLog: EventLog
  readonly metrics: Metrics
  readonly serviceSecrets: readonly string[]
}

function openWebhooks(
  config: Pick<DealConfig, 'webhooks'>,
  { database, clock, ids, log: logger, webhooks: tuning, tracing }: DealResources,
  { authClient, principals, eventLog, metrics, serviceSecrets }: WebhookParts,
): Webhooks {
  const report = async (pauses: readonly UnreportedPause[]) => {
    const body = { pauses: pauses.map(({ id, reason }) => ({ id, reason })) }
    return (await authClient.ask(questionOf(webhookPausesExchange, { path: {}, body }))).status === 204
  }
  return createWebhooks(
    {
      store: createWebhookStore(database),
      work: createWebhookWork(database),
      log: eventLog,
      principals,
      report,
      represent: representEvent,
      serviceSecrets,
      clock,
      ids,
      logger,
      tracePost: tracing && ((post) => tracing.post(post)),
      userAgent: `Keyhold/${projectVersion()}`,
      onAttempt: countDeliveries(metrics),
    },
    config.webhooks,
    tuning,
  )
}

/** The parts that the routes without authentication show. */
interface OpenRoutesParts {
  readonly draining: DealResources['draining']
  readonly dependencies: readonly Dependency[]
  readonly metrics: Metrics
}

const openRoutes = (
  { metricsPort, publicOrigins, publicOrigin, issuer, schemes, expiredTokenStatus }: DealConfig,
  { dependencies, metrics, draining }: OpenRoutesParts,
): Route[] => [
  ...healthRoutes(dependencies, draining),
  ...(metricsPort === undefined ? [metricsRoute(metrics)] : []),
  ...(schemes.includes('bearer') ? [resourceMetadataRoute({ publicOrigin, issuer })] : []),
  ...documentationRoutes({ server: 'deal', publicOrigins, schemes, expiredTokenStatus }),
]
