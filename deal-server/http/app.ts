/**
 * The HTTP interface of the deal server: every style over one pipeline. It knows neither how callers authenticate nor
 * where deals are stored.
 */

import { createLists } from '../../shared/platform/http/pagination/lists.ts'
import { createAnswerByRoute, createApp, type Route } from '../../shared/platform/http/server/routes.ts'
import type { TransportSettings } from '../../shared/platform/http/transport.ts'
import { ProblemError } from '../../shared/platform/problems/errors.ts'
import {
  type ProblemEntry,
  type ProblemTable,
  problemDocument,
} from '../../shared/platform/problems/problem-document.ts'
import { authenticationOptions } from '../../shared/protocol/authentication/app-options.ts'
import type { SchemeName } from '../../shared/protocol/authentication/scheme.ts'
import { problemsOf } from '../../shared/protocol/problems/catalogue.ts'
import { createEndpointPipeline } from '../../shared/server/endpoints/pipeline.ts'
import { routeOf } from '../../shared/server/endpoints/routes.ts'
import type { ConsoleServer } from '../../shared/server/pages/console.ts'
import { refuseElsewhere } from '../../shared/server/pages/elsewhere.ts'
import { requireAnyWidth } from '../commands/require-any-width.ts'
import type { DealRefusalCode } from '../domain/refusal.ts'
import { commands } from '../use-cases/index.ts'
import { proposalEndpoints } from './decide-proposals.ts'
import { dealOpenApiRoutes } from './openapi/document.ts'
import { authenticateOnce, createPipeline } from './pipeline.ts'
import { createDescribeFailure } from './representations/line-problems.ts'
import type { DealServices } from './services/deal-services.ts'
import { styleRoutes } from './styles/index.ts'
import { webhookEndpoints } from './webhooks/endpoints.ts'

interface DealAppSettings {
  readonly publicOrigin: string
  readonly publicOrigins: Readonly<Record<'auth' | 'deal', string>>
  readonly schemes: readonly SchemeName[]
  readonly expiredTokenStatus: number
  readonly requirePrecondition: boolean
  readonly downloads: ConsoleServer['downloads']
  readonly transport: TransportSettings
}

/** Makes the app; it does not listen yet. */
export function createDealApp(settings: DealAppSettings, services: DealServices) {
  const { clock, ids, log, openRoutes, authenticate, refuseCrossSite, observe, cors, tracing } = services
  const pipeline = createPipeline(services)
  // A code of the domain without an entry does not compile.
  const problems: ProblemTable & Record<DealRefusalCode, ProblemEntry> = problemsOf('deal', settings.expiredTokenStatus)
  const lists = createLists({ origin: settings.publicOrigin, cursors: services.cursors })
  const ofStyles = styleRoutes(commands, {
    requirePrecondition: settings.requirePrecondition,
    lists,
    clock,
    publicOrigin: settings.publicOrigin,
    refuseForeignPage: services.refuseForeignPage,
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
    authenticate: authenticateOnce(services),
    refuseCrossSite,
    requireRights: requireAnyWidth,
    headers: {},
  })
  const endpoints = [...webhookEndpoints(services, lists), ...proposalEndpoints(services)]
  const routes = [...openRoutes, ...served, ...endpoints.map((endpoint) => routeOf(endpoint, run))]
  const answers = { problems, ...authenticationOptions(settings.schemes), origin: settings.publicOrigin, log }
  const { publicOrigins, downloads } = settings
  const caller = { authenticate, refuseCrossSite }
  const server = { server: 'deal', publicOrigins, downloads, routes, answer: createAnswerByRoute(answers) } as const
  // Readers sign in by session: without that scheme there is no console.
  const hasConsole = settings.schemes.includes('session')
  const withPages = hasConsole ? services.console({ ...server, ...caller, clock, ids }) : routes
  return createApp({
    ...answers,
    routes: [
      ...withPages,
      ...dealOpenApiRoutes({ routes, problems, origin: settings.publicOrigin, schemes: settings.schemes }),
    ],
    transport: settings.transport,
    cors,
    clock,
    ids,
    observe,
    trace: tracing?.traceRequest,
    unknownPath: (path) => refuseUnknownVersion(path) ?? refuseElsewhere('deal', settings.publicOrigins)(path),
  })
}

const versions = ['v1']

function refuseUnknownVersion(path: string): ProblemError | undefined {
  const version = /^\/rest\/([^/]+)/.exec(path)?.[1]
  if (version === undefined || versions.includes(version)) return undefined
  return new ProblemError('unknown-version', `Versions served: ${versions.join(', ')}.`, { members: { versions } })
}
