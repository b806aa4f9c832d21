/**
 * The HTTP interface of the deal server: every style over one pipeline. It knows neither how callers authenticate nor
 * where deals are stored.
 */

import { type DealConsolePorts, dealConsoleRoutes } from '../../console/deal-console.ts'
import { createDownloads } from '../../console/frame/downloads.ts'
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
import type { UserLimitsOptions } from '../../shared/platform/http/user-limits.ts'
import type { IdSource } from '../../shared/platform/ids.ts'
import type { Log } from '../../shared/platform/log/log.ts'
import { ProblemError } from '../../shared/platform/problems/errors.ts'
import { problemDocument } from '../../shared/platform/problems/problem-document.ts'
import { authenticationOptions } from '../../shared/protocol/authentication/app-options.ts'
import type { RefuseCrossSite } from '../../shared/protocol/authentication/cross-site.ts'
import type { SchemeName } from '../../shared/protocol/authentication/scheme.ts'
import { refuseElsewhere } from '../../shared/server/pages/elsewhere.ts'
import { commands } from '../use-cases/index.ts'
import { dealOpenApiRoutes } from './openapi/document.ts'
import { createPipeline, type PipelinePorts } from './pipeline.ts'
import { createDealProblems } from './problems.ts'
import { createDescribeFailure } from './representations/line-problems.ts'
import { styleRoutes } from './styles/index.ts'
import { webhookRoutes } from './webhooks/routes.ts'

/** The parts that the app uses. */
export interface DealAppPorts extends PipelinePorts {
  /** Routes without authentication. */
  readonly openRoutes: readonly Route[]
  readonly refuseCrossSite: RefuseCrossSite
  readonly cursors: Cursors
  readonly ids: IdSource
  readonly log: Log
  /** Called for every request after its response. */
  readonly observe?: AppOptions['observe']
  readonly cors?: Cors
  /** Makes requests spans of traces; without it, they are none. */
  readonly trace?: AppOptions['trace']
}

/** The settings that the app uses. */
export interface DealAppSettings {
  readonly publicOrigin: string
  readonly publicOrigins: Readonly<Record<'auth' | 'deal', string>>
  readonly schemes: readonly SchemeName[]
  readonly expiredTokenStatus: number
  readonly requirePrecondition: boolean
  /** How many downloads may be under way in this process. */
  readonly downloads: UserLimitsOptions
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
  const served = [...ofStyles, ...webhookRoutes({ lists, clock })].map(
    (route): Route => ({ ...route, handle: (request) => pipeline(request, route) }),
  )
  const routes = [...openRoutes, ...served]
  const answers = { problems, ...authenticationOptions(settings.schemes), origin: settings.publicOrigin, log }
  return createApp({
    ...answers,
    routes: [
      ...routes,
      ...consoleOf(settings, {
        routes,
        answer: createAnswerByRoute(answers),
        authenticate: ports.authenticate,
        refuseCrossSite: ports.refuseCrossSite,
        clock,
        ids,
        download: createDownloads(settings.downloads),
      }),
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

/** Readers sign in by session: without that scheme there is no console. */
const consoleOf = ({ schemes, publicOrigins }: DealAppSettings, ports: DealConsolePorts): Route[] =>
  schemes.includes('session') ? dealConsoleRoutes({ server: 'deal', publicOrigins }, ports) : []

const versions = ['v1']

function refuseUnknownVersion(path: string): ProblemError | undefined {
  const version = /^\/rest\/([^/]+)/.exec(path)?.[1]
  if (version === undefined || versions.includes(version)) return undefined
  return new ProblemError('unknown-version', `Versions served: ${versions.join(', ')}.`, { members: { versions } })
}
