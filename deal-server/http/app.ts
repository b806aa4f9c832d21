/**
 * The HTTP interface of the deal server: every style over one pipeline. It knows neither how callers authenticate nor
 * where deals are stored.
 */
import type { Cors } from '../../shared/platform/http/cors.ts'
import type { Cursors } from '../../shared/platform/http/pagination/cursors.ts'
import { createLists } from '../../shared/platform/http/pagination/lists.ts'
import { type AppOptions, createApp, type Route } from '../../shared/platform/http/server/routes.ts'
import type { TransportSettings } from '../../shared/platform/http/transport.ts'
import type { IdSource } from '../../shared/platform/ids.ts'
import type { Log } from '../../shared/platform/log/log.ts'
import { ProblemError } from '../../shared/platform/problems/errors.ts'
import { problemDocument } from '../../shared/platform/problems/problem-document.ts'
import { authenticationOptions } from '../../shared/protocol/authentication/app-options.ts'
import type { SchemeName } from '../../shared/protocol/authentication/scheme.ts'
import { commands } from '../use-cases/index.ts'
import { dealOpenApiRoutes } from './openapi/document.ts'
import { createPipeline, type PipelinePorts } from './pipeline.ts'
import { createDealProblems } from './problems.ts'
import { styleRoutes } from './styles/index.ts'

/** The parts that the app uses. */
export interface DealAppPorts extends PipelinePorts {
  /** Routes without authentication. */
  readonly openRoutes: readonly Route[]
  readonly cursors: Cursors
  readonly ids: IdSource
  readonly log: Log
  /** Called for every request after its response. */
  readonly observe?: AppOptions['observe']
  readonly cors?: Cors
}

/** The settings that the app uses. */
export interface DealAppSettings {
  readonly publicOrigin: string
  readonly schemes: readonly SchemeName[]
  readonly expiredTokenStatus: number
  readonly requirePrecondition: boolean
  readonly transport: TransportSettings
}

/** Makes the app; it does not listen yet. */
export function createDealApp(settings: DealAppSettings, ports: DealAppPorts) {
  const { clock, ids, log, openRoutes } = ports
  const pipeline = createPipeline(ports)
  const problems = createDealProblems(settings.expiredTokenStatus)
  const ofStyles = styleRoutes(commands, {
    requirePrecondition: settings.requirePrecondition,
    lists: createLists({ origin: settings.publicOrigin, cursors: ports.cursors }),
    // A stored refusal has its own request id.
    renderProblem: (refusal) => problemDocument(problems, refusal, { origin: settings.publicOrigin, requestId: '' }),
  })
  const served = ofStyles.map((route): Route => ({ ...route, handle: (request) => pipeline(request, route) }))
  const routes = [...openRoutes, ...served]
  return createApp({
    routes: [
      ...routes,
      ...dealOpenApiRoutes({ routes, problems, origin: settings.publicOrigin, schemes: settings.schemes }),
    ],
    problems,
    ...authenticationOptions(settings.schemes),
    transport: settings.transport,
    origin: settings.publicOrigin,
    cors: ports.cors,
    clock,
    ids,
    log,
    ...(ports.observe ? { observe: ports.observe } : {}),
    unknownPath: refuseUnknownPath,
  })
}

const versions = ['v1']

function refuseUnknownPath(path: string): ProblemError {
  const version = /^\/rest\/([^/]+)/.exec(path)?.[1]
  if (version === undefined || versions.includes(version))
    return new ProblemError('not-found', 'There is no such route.')
  return new ProblemError('unknown-version', `Versions served: ${versions.join(', ')}.`, { members: { versions } })
}
