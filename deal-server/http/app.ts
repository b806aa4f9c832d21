/**
 * The HTTP interface of the deal server: every style over one pipeline. It knows neither how callers authenticate nor
 * where deals are stored.
 */

import type { Cors } from '../../shared/platform/http/cors.ts'
import type { Cursors } from '../../shared/platform/http/pagination/cursors.ts'
import { createLists } from '../../shared/platform/http/pagination/lists.ts'
import {
  type AppOptions,
  createAnswerByRoute,
  createApp,
  type Route,
} from '../../shared/platform/http/server/routes.ts'
import type { TransportSettings } from '../../shared/platform/http/transport.ts'
import type { IdSource } from '../../shared/platform/ids.ts'
import type { Log } from '../../shared/platform/log/log.ts'
import { ProblemError } from '../../shared/platform/problems/errors.ts'
import { problemDocument } from '../../shared/platform/problems/problem-document.ts'
import { authenticationOptions } from '../../shared/protocol/authentication/app-options.ts'
import type { RefuseCrossSite } from '../../shared/protocol/authentication/cross-site.ts'
import type { SchemeName } from '../../shared/protocol/authentication/scheme.ts'
import { createEndpointPipeline } from '../../shared/server/endpoints/pipeline.ts'
import { routeOf } from '../../shared/server/endpoints/routes.ts'
import type { Console, ConsoleServer } from '../../shared/server/pages/console.ts'
import { refuseElsewhere } from '../../shared/server/pages/elsewhere.ts'
import { requireAnyWidth } from '../commands/require-any-width.ts'
import { commands } from '../use-cases/index.ts'
import { dealOpenApiRoutes } from './openapi/document.ts'
import { authenticateOnce, createPipeline, type PipelinePorts } from './pipeline.ts'
import { createDealProblems } from './problems.ts'
import { createDescribeFailure } from './representations/line-problems.ts'
import { styleRoutes } from './styles/index.ts'
import { type WebhookEndpointPorts, webhookEndpoints } from './webhooks/endpoints.ts'

/** The parts that the app uses. */
export interface DealAppPorts extends PipelinePorts, Omit<WebhookEndpointPorts, 'lists'> {
  readonly console: Console
  /** Routes without authentication. */
  readonly openRoutes: readonly Route[]
  readonly refuseCrossSite: RefuseCrossSite
  readonly cursors: Cursors
  readonly ids: IdSource
  readonly log: Log
  /** Called for every request after its response. */
  readonly observe?: AppOptions['observe']
  readonly cors?: Cors
  /** Makes requests spans of traces; without it, there are no spans. */
  readonly trace?: AppOptions['trace']
}

/** The settings that the app uses. */
export interface DealAppSettings {
  readonly publicOrigin: string
  readonly publicOrigins: Readonly<Record<'auth' | 'deal', string>>
  readonly schemes: readonly SchemeName[]
  readonly expiredTokenStatus: number
  readonly requirePrecondition: boolean
  readonly downloads: ConsoleServer['downloads']
  readonly transport: TransportSettings
}

/** Makes the app; it does not listen yet. */
export function createDealApp(settings: DealAppSettings, ports: DealAppPorts) {
  const { clock, ids, log, openRoutes } = ports
  const pipeline = createPipeline(ports)
  const problems = createDealProblems(settings.expiredTokenStatus)
  const lists = createLists({ origin: settings.publicOrigin, cursors: ports.cursors })
  const ofStyles = styleRoutes(commands, {
    requirePrecondition: settings.requirePrecondition,
    lists,
    describeFailure: createDescribeFailure({
      problems,
      origin: settings.publicOrigin,
      schemes: settings.schemes,
      log,
    }),
    // A stored refusal has its own request id.
    renderProblem: (refusal) => problemDocument(problems, refusal, { origin: settings.publicOrigin, requestId: '' }),
  })
  const served = ofStyles.map((route): Route => ({ ...route, handle: (request) => pipeline(request, route) }))
  const run = createEndpointPipeline({
    authenticate: authenticateOnce(ports),
    refuseCrossSite: ports.refuseCrossSite,
    requireRights: requireAnyWidth,
    headers: {},
  })
  const ofWebhooks = webhookEndpoints({ ...ports, lists }).map((endpoint) => routeOf(endpoint, run))
  const routes = [...openRoutes, ...served, ...ofWebhooks]
  const answers = { problems, ...authenticationOptions(settings.schemes), origin: settings.publicOrigin, log }
  const { publicOrigins, downloads } = settings
  const { authenticate, refuseCrossSite } = ports
  const caller = { authenticate, refuseCrossSite }
  const server = { server: 'deal', publicOrigins, downloads, routes, answer: createAnswerByRoute(answers) } as const
  // Readers sign in by session: without that scheme there is no console.
  const hasConsole = settings.schemes.includes('session')
  const withPages = hasConsole ? ports.console({ ...server, ...caller, clock, ids }) : routes
  return createApp({
    ...answers,
    routes: [
      ...withPages,
      ...dealOpenApiRoutes({ routes, problems, origin: settings.publicOrigin, schemes: settings.schemes }),
    ],
    transport: settings.transport,
    cors: ports.cors,
    clock,
    ids,
    ...(ports.observe ? { observe: ports.observe } : {}),
    trace: ports.trace,
    unknownPath: (path) => refuseUnknownVersion(path) ?? refuseElsewhere('deal', settings.publicOrigins)(path),
  })
}

const versions = ['v1']

function refuseUnknownVersion(path: string): ProblemError | undefined {
  const version = /^\/rest\/([^/]+)/.exec(path)?.[1]
  if (version === undefined || versions.includes(version)) return undefined
  return new ProblemError('unknown-version', `Versions served: ${versions.join(', ')}.`, { members: { versions } })
}
