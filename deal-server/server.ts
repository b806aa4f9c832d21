/** The composition root of the deal server: only this file knows all parts, in production and in tests. */

import { createHashingPermits } from '../shared/platform/crypto/hashing-permits.ts'
import { createHousekeeping } from '../shared/platform/database/housekeeping.ts'
import { createCors } from '../shared/platform/http/cors.ts'
import { createCursors, cursorKeyOf } from '../shared/platform/http/pagination/cursors.ts'
import type { Draining } from '../shared/platform/http/server/drain.ts'
import { observeRequests } from '../shared/platform/metrics/request-metrics.ts'
import type { Systems } from '../shared/platform/systems/systems.ts'
import { corsFields } from '../shared/protocol/authentication/cors-fields.ts'
import { createCrossSiteRule, trustedOrigins } from '../shared/protocol/authentication/cross-site.ts'
import { questionOf } from '../shared/protocol/internal-api/exchange.ts'
import { webhookPausesExchange } from '../shared/protocol/internal-api/webhook-pauses.ts'
import { observeAuthentications } from '../shared/server/metrics/authentication-metrics.ts'
import { observeServer } from '../shared/server/metrics/server-metrics.ts'
import type { Console } from '../shared/server/pages/console.ts'
import { documentationRoutes, operationRoutes } from '../shared/server/pages/routes.ts'
import { followAuthServer } from '../verify/src/service/follow-auth-server.ts'
import { askForRecentProof } from './auth-client/ask-for-recent-proof.ts'
import { createRightsDeclaration } from './auth-client/declare-rights.ts'
import { createChangeReports } from './auth-client/report-changes.ts'
import { createRefusalReports } from './auth-client/report-refusals.ts'
import { createExecuteCommand } from './commands/execute.ts'
import { createFindUserId } from './commands/find-assignable-users.ts'
import { createRejectProposal } from './commands/reject.ts'
import type { DealConfig } from './config.ts'
import { createEventStreams, type EventStreamsOptions } from './events/event-streams.ts'
import { WakeUps } from './events/wake-ups.ts'
import { createDealApp } from './http/app.ts'
import { representEvent } from './http/representations/represent-event.ts'
import { resourceMetadataRoute } from './http/resource-metadata.ts'
import { createPurgedEventsJob } from './retention/purged-events.ts'
import { createDealRepository } from './store/deals.ts'
import { createEventLog } from './store/event-log.ts'
import { dealHousekeepingJobs } from './store/housekeeping.ts'
import { createWebhookWork } from './store/webhooks/webhook-work.ts'
import { createWebhookStore } from './store/webhooks/webhooks.ts'
import { commands, rightsOfCommands } from './use-cases/index.ts'
import type { UnreportedPause } from './webhooks/ports.ts'
import { createWebhooks, type Webhooks, type WebhookTuning } from './webhooks/webhooks.ts'
import type { DealSystems } from './wiring/deal-systems.ts'
import { dependenciesOf } from './wiring/dependencies.ts'
import { countCommands, countDeliveries, observeDealServer } from './wiring/metrics.ts'
import { createDealAuthentication } from './wiring/schemes.ts'

/** The parts that differ between production and tests. */
export interface DealResources extends Systems {
  readonly console: Console
  /** Shows that the process is about to end. */
  readonly draining?: Draining
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
export function createDealServer(config: DealConfig, resources: DealResources) {
  const systems = createDealSystems(config, resources)
  const { database, metrics, serviceSecrets, followed } = systems
  const { keys, principals } = followed
  const withPermit = createHashingPermits({ concurrency: config.hashConcurrency })
  const refusalReports = createRefusalReports(systems)
  const changeReports = createChangeReports(systems)
  const rightsDeclaration = createRightsDeclaration(systems, rightsOfCommands)
  const authentication = createDealAuthentication(config, systems, {
    withPermit,
    noteRefusal: refusalReports.note,
    observe: observeAuthentications(metrics, 'deal'),
  })
  const webhooks = openWebhooks(config, resources, systems)
  const { events, wakeUps } = createLiveEvents(config, resources, { systems, webhooks })
  const jobs = [...dealHousekeepingJobs, createPurgedEventsJob({ keptDays: config.purgedEventsDays })]
  const housekeeping = createHousekeeping({ ...systems, name: 'deals', jobs })
  const watched = { keys, feed: config.hasFeed ? systems.feed : undefined, events, webhooks }
  const dependencies = dependenciesOf(systems, watched)
  observeServer(metrics, 'deal', { dependencies, housekeeping, hashing: () => withPermit.load() })
  observeDealServer(metrics, watched)
  const repository = createDealRepository(database, () => wakeUps.send())
  const executeCommand = createExecuteCommand({
    ...systems,
    repository,
    principals,
    defaultCurrency: config.defaultCurrency,
    observeCommand: countCommands(metrics, useCaseNames),
  })
  const app = createDealApp(config, {
    ...systems,
    ...authentication,
    openRoutes: [
      ...operationRoutes(config, dependencies, resources),
      ...(config.schemes.includes('bearer') ? [resourceMetadataRoute(config)] : []),
      ...documentationRoutes({ ...config, server: 'deal' }),
    ],
    observe: observeRequests(metrics, 'deal'),
    executeCommand,
    rejectProposal: createRejectProposal({ ...systems, repository }),
    batches: config.batches,
    reader: repository,
    events,
    webhooks: webhooks.management,
    requireRecentProof: askForRecentProof(systems),
    noteWebhookChange: changeReports.note,
    cursors: createCursors(serviceSecrets.map(cursorKeyOf)),
    findUserId: createFindUserId(principals),
    ...rulesForPages(config),
    console: resources.console,
  })
  return {
    app,
    executeCommand,
    reader: repository,
    /** Starts to follow the auth server, and the work in the background. Does not wait for a server that is down. */
    start: async () => {
      await Promise.all([authentication.start(), wakeUps.start()])
      for (const part of [housekeeping, webhooks, rightsDeclaration]) part.start()
    },
    stop: async () => {
      const parts = [webhooks, rightsDeclaration, refusalReports, changeReports, wakeUps, housekeeping, authentication]
      for (const part of parts) await part.stop()
    },
  }
}

/** What pages of other origins may do: those of TOKEN_ORIGINS call with tokens alone. */
function rulesForPages(config: DealConfig) {
  const [trusted, isOpenToAll] = [trustedOrigins(config), config.tokenOrigins.has('*')]
  return {
    cors: createCors(trusted, corsFields, (_request, origin) => isOpenToAll || config.tokenOrigins.has(origin)),
    refuseForeignPage: isOpenToAll
      ? () => undefined
      : createCrossSiteRule(new Set([...trusted, ...config.tokenOrigins])),
  }
}

function createDealSystems(config: DealConfig, resources: DealResources): DealSystems {
  const { tracing, serviceSecret, fetch: plainFetch = globalThis.fetch } = resources
  const database = tracing?.database(resources.database) ?? resources.database
  const fetch = tracing?.fetch(plainFetch) ?? plainFetch
  const followed = followAuthServer(config, { ...resources, fetch })
  return {
    ...resources,
    database,
    fetch,
    followed,
    authClient: followed.authClient,
    feed: followed.feed,
    serviceSecrets: config.serviceSecrets ?? [serviceSecret],
    eventLog: createEventLog(database),
    represent: representEvent,
  }
}

/** The event streams, and the wake-ups between deal servers. */
function createLiveEvents(
  { eventStreams, wakeUpPauseMs: pauseMs }: DealConfig,
  { eventStreams: others }: DealResources,
  { systems, webhooks }: { systems: DealSystems; webhooks: Webhooks },
) {
  const events = createEventStreams(systems, { ...eventStreams, ...others })
  const onWakeUp = () => {
    events.wakeUp()
    webhooks.wakeUp()
  }
  const wakeUps = new WakeUps(systems, { instanceId: () => systems.feed.instanceId(), onWakeUp, pauseMs })
  return { events, wakeUps }
}

function openWebhooks(config: DealConfig, { webhooks: tuning }: DealResources, systems: DealSystems): Webhooks {
  const report = async (pauses: readonly UnreportedPause[]) => {
    const body = { pauses: pauses.map(({ id, reason }) => ({ id, reason })) }
    return (await systems.authClient.ask(questionOf(webhookPausesExchange, { path: {}, body }))).status === 204
  }
  const parts = {
    ...systems,
    principals: systems.followed.principals,
    store: createWebhookStore(systems.database),
    work: createWebhookWork(systems.database),
    report,
    onAttempt: countDeliveries(systems.metrics),
  }
  return createWebhooks(parts, config.webhooks, tuning)
}
