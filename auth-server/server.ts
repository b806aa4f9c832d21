/** The composition root of the auth server. It connects all parts, in production and in tests. */

import { createCors } from '../shared/platform/http/cors.ts'
import { createCursors, cursorPurpose } from '../shared/platform/http/pagination/cursors.ts'
import { createLists } from '../shared/platform/http/pagination/lists.ts'
import type { AnsweredRequest, Route } from '../shared/platform/http/server/routes.ts'
import { observeRequests } from '../shared/platform/metrics/request-metrics.ts'
import type { ProblemTable } from '../shared/platform/problems/problem-document.ts'
import { corsFields } from '../shared/protocol/authentication/cors-fields.ts'
import { trustedOrigins } from '../shared/protocol/authentication/cross-site.ts'
import { createSessionCookie } from '../shared/protocol/authentication/session/session-cookie.ts'
import { reportUses } from '../shared/protocol/authentication/signed-request/report-uses.ts'
import { problemsOf } from '../shared/protocol/problems/catalogue.ts'
import { observeServer } from '../shared/server/metrics/server-metrics.ts'
import { documentationRoutes, operationRoutes } from '../shared/server/pages/routes.ts'
import { storeSecondFactorRoles } from './access/change-catalogue.ts'
import { storeOwnAudience } from './access/resource-servers.ts'
import { recordRefusals, recordWebhookChanges, recordWebhookPauses } from './audit/audit.ts'
import { readEntries } from './audit/read-entries.ts'
import { createSignIn } from './authorization/sign-in.ts'
import type { AuthConfig } from './config.ts'
import { createAuthApp } from './http/app.ts'
import { createInternalRoutes } from './http/internal/index.ts'
import { createInternalNonces } from './http/internal/nonces.ts'
import { createServiceOf } from './http/internal/service-of.ts'
import { isForScripts } from './http/oauth/index.ts'
import type { AuthServices } from './http/services/auth-services.ts'
import { verifyBasic } from './logins/verify-password.ts'
import { createOAuth, createOAuthSystems } from './oauth/oauth.ts'
import { narrowCatalogue } from './services/narrow.ts'
import { dependenciesOf } from './wiring/dependencies.ts'
import { createAuthHousekeeping } from './wiring/housekeeping.ts'
import { createKeyOperationRecording } from './wiring/key-operations.ts'
import { countServiceRequests, observeAuthServer } from './wiring/metrics.ts'
import { type AuthParts, type AuthResources, createParts } from './wiring/parts.ts'
import { createCallerAuthentication } from './wiring/schemes.ts'
import { createServiceCallers } from './wiring/service-callers.ts'

/** An auth server. */
export type AuthServer = ReturnType<typeof createAuthServer>

/** Creates an auth server that does not listen yet. */
export function createAuthServer(config: AuthConfig, given: AuthResources) {
  const { tracing } = given
  const resources = { ...given, database: tracing?.database(given.database) ?? given.database }
  const { metrics } = resources
  const parts = createParts(config, resources)
  const { publisher, audit, users, apiKeys, digestSecrets, hashing, ownPrincipals } = parts
  const housekeeping = createAuthHousekeeping(resources)
  const dependencies = dependenciesOf(parts)
  observeServer(metrics, 'auth', { dependencies, housekeeping, hashing: () => hashing.withPermit.load() })
  observeAuthServer(parts, config.keyRules)
  const keyOperations = createKeyOperationRecording({ ...resources, audit })
  const authentication = createCallerAuthentication(config, parts)
  const { app, endpoints } = createAuthApp(config, {
    ...resources,
    pipeline: { ...authentication, audit },
    services: servicesOf(config, { ...parts, ...authentication }),
    decisions: { serviceOf: createServiceOf(parts), inCatalogue: parts.inCatalogue },
    openRoutes: [
      ...operationRoutes(config, dependencies, resources),
      ...documentationRoutes({ ...config, server: 'auth' }),
    ],
    internalRoutes: internalRoutesOf(config, parts),
    cors: createCors(trustedOrigins(config), corsFields, isForScripts),
    observe: observeAll(parts),
  })
  let unfollow: (() => void) | undefined
  const start = () => {
    publisher.start()
    unfollow ??= ownPrincipals.follow()
    audit.start()
    housekeeping.start()
    keyOperations.start()
  }
  const stop = async () => {
    await housekeeping.stop()
    await keyOperations.stop()
    await audit.stop()
    unfollow?.()
    await publisher.stop()
  }
  const prepare = async () => {
    await storeOwnAudience(resources.database, config.audience)
    await storeSecondFactorRoles(resources.database, config.secondFactorRoles)
  }
  return { app, endpoints, audit, users, apiKeys, digestSecrets, prepare, start, stop }
}

/** Observes each request, and notes the service that it is of. */
function observeAll({ clock, log, metrics, services }: AuthParts): (request: AnsweredRequest) => void {
  const observe = observeRequests(metrics, 'auth')
  const countOfService = countServiceRequests(metrics)
  const noteUse = reportUses(services.noteUse, { clock, log })
  return (request) => {
    observe(request)
    const { serviceId, code = 'succeeded' } = request
    if (serviceId === undefined) return
    countOfService(serviceId, code)
    noteUse(serviceId)
  }
}

/** Gathers the services behind the public endpoints. */
function servicesOf(
  config: AuthConfig,
  parts: AuthParts & ReturnType<typeof createCallerAuthentication>,
): AuthServices {
  const { database, logins, tokens, audit, secretsKeys } = parts
  const { publicOrigin: origin } = config
  const oauth = createOAuthSystems(config, { ...parts, ...tokens, ...logins })
  const cursors = createCursors(secretsKeys.map((key) => key.derive(cursorPurpose)))
  return {
    ...parts,
    ...logins,
    ...createOAuth(oauth),
    ...createSignIn(oauth),
    origin,
    origins: config,
    lists: createLists({ origin, cursors }),
    cookie: createSessionCookie(config),
    readEntries: async (page: Parameters<typeof readEntries>[1]) => {
      // Without writes nothing can get a number: what has one is still read.
      await audit.settle().catch(() => undefined)
      return readEntries(database, page)
    },
  }
}

/** Creates the routes for deal servers and other services. */
function internalRoutesOf(config: AuthConfig, parts: AuthParts): Route[] {
  const { cache, clock, keyRing, publisher, logins, audit } = parts
  const nonces = { cache: config.redisUrl === undefined ? undefined : cache, clock }
  const problems: ProblemTable = problemsOf('auth', config.expiredTokenStatus)
  return createInternalRoutes({
    ...parts,
    serviceOf: createServiceOf(parts),
    useNonce: createInternalNonces(nonces),
    publishedKeys: () => keyRing.publishedKeys(),
    instanceId: () => publisher.instanceId(),
    principal: (username) => publisher.fill(username),
    catalogue: () => publisher.catalogue(),
    feedStreams: config.feedStreams,
    sightOf: async (resourceServer) => narrowCatalogue(await parts.catalogues.latest(), resourceServer),
    describe: () => ({
      issuer: config.issuer,
      schemes: [...config.schemes],
      signatureTtlSeconds: config.signatureTtlSeconds,
      sessionIdleTtlSeconds: config.sessionIdleTtlSeconds,
      expiredTokenStatus: config.expiredTokenStatus,
      publicOrigins: config.publicOrigins,
      history: parts.history.present() ?? null,
    }),
    statusOf: (code) => problems[code]?.status ?? 400,
    ...createServiceCallers(config, parts),
    sessions: logins.sessions,
    requireRecentProof: logins.requireRecentProof,
    verifyBasic: (received) => verifyBasic(parts, received),
    noteRefusal: recordRefusals(audit),
    declareRights: (rights, requestId) => {
      const origin = { actor: null, scheme: null, address: null, requestId }
      return audit.during(origin, undefined, () => parts.resourceServers.declareOwn(rights))
    },
    noteWebhookPauses: recordWebhookPauses(audit),
    noteWebhookChanges: recordWebhookChanges(audit),
  })
}
