/**
 * The HTTP application of the auth server: all endpoints behind one pipeline, the OpenAPI document and the routes for
 * deal servers. It does not know the schemes of authentication or the stores.
 */

import type { Cors } from '../../shared/platform/http/cors.ts'
import { noStore } from '../../shared/platform/http/response.ts'
import {
  type AppOptions,
  createAnswerByRoute,
  createApp,
  type Route,
} from '../../shared/platform/http/server/routes.ts'
import type { TransportSettings } from '../../shared/platform/http/transport.ts'
import type { Systems } from '../../shared/platform/systems/systems.ts'
import { authenticationOptions } from '../../shared/protocol/authentication/app-options.ts'
import { requireRights } from '../../shared/protocol/authentication/authenticate.ts'
import type { SchemeName } from '../../shared/protocol/authentication/scheme.ts'
import { problemsOf } from '../../shared/protocol/problems/catalogue.ts'
import { createEndpointPipeline, type EndpointPipelinePorts } from '../../shared/server/endpoints/pipeline.ts'
import { routeOf } from '../../shared/server/endpoints/routes.ts'
import type { AuthConsoleServer, Console } from '../../shared/server/pages/console.ts'
import { refuseElsewhere } from '../../shared/server/pages/elsewhere.ts'
import { authzenConfigurationEndpoint } from './decisions/configuration.ts'
import { type DecisionPorts, decisionEndpoints } from './decisions/evaluation.ts'
import { createEndpoints } from './endpoints/index.ts'
import { oauthEndpoints } from './oauth/index.ts'
import { oauthProblemForm } from './oauth/oauth-responses.ts'
import { authOpenApiRoutes } from './openapi.ts'
import type { AuthServices } from './services/auth-services.ts'

/** The settings that the application reads. */
export interface AuthAppSettings {
  readonly issuer: string
  readonly publicOrigin: string
  readonly publicOrigins: Readonly<Record<'auth' | 'deal', string>>
  readonly schemes: readonly SchemeName[]
  readonly expiredTokenStatus: number
  readonly keyRules: AuthConsoleServer['keyRules']
  readonly downloads: AuthConsoleServer['downloads']
  readonly transport: TransportSettings
}

/** Other parts that the application uses. */
export interface AuthAppPorts extends Systems {
  readonly console: Console<AuthConsoleServer>
  readonly pipeline: Pick<EndpointPipelinePorts, 'authenticate' | 'refuseCrossSite' | 'audit'>
  readonly services: AuthServices
  readonly decisions: DecisionPorts
  /** Routes that both servers have: health, metrics, pages. They need no caller. */
  readonly openRoutes: readonly Route[]
  /** Routes for deal servers. The OpenAPI document does not contain them. */
  readonly internalRoutes: readonly Route[]
  readonly cors: Cors
  readonly observe: NonNullable<AppOptions['observe']>
}

/** Creates the application, which does not listen, and its endpoints. */
export function createAuthApp(settings: AuthAppSettings, ports: AuthAppPorts) {
  const { clock, ids, log, cors, observe, tracing, openRoutes, internalRoutes } = ports
  const { schemes, publicOrigin: origin, transport } = settings
  // Caches must not store responses: many carry a credential (RFC 6749 §5.1).
  const run = createEndpointPipeline({ ...ports.pipeline, requireRights, headers: noStore })
  const problems = problemsOf('auth', settings.expiredTokenStatus)
  const serves = { keySigned: schemes.includes('key-signed'), session: schemes.includes('session') }
  const endpoints = [
    ...createEndpoints(serves, ports.services),
    ...oauthEndpoints(settings, ports.services),
    ...decisionEndpoints(ports.decisions),
    authzenConfigurationEndpoint(origin),
  ]
  const documented = [...openRoutes, ...endpoints.map((endpoint) => routeOf(endpoint, run))]
  const openApi = authOpenApiRoutes({ routes: documented, endpoints, problems, origin, schemes })
  const answers = { problems, ...authenticationOptions(schemes), otherProblemForm: oauthProblemForm, origin, log }
  const answer = createAnswerByRoute(answers)
  const { publicOrigins, keyRules, downloads } = settings
  const { authenticate, refuseCrossSite } = ports.pipeline
  const caller = { authenticate, refuseCrossSite }
  const server = { server: 'auth', publicOrigins, keyRules, downloads, routes: documented, answer, clock, ids } as const
  const withPages = serves.session ? ports.console({ ...server, ...caller }) : documented
  const app = createApp({
    ...answers,
    routes: [...withPages, ...openApi, ...internalRoutes],
    unknownPath: refuseElsewhere('auth', settings.publicOrigins),
    transport,
    cors,
    clock,
    ids,
    observe,
    trace: tracing?.traceRequest,
  })
  return { app, endpoints }
}
