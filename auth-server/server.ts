/** The composition root of the auth server. It connects all parts, in production and in tests. */

import { createKnownHistory } from '../shared/platform/history/history.ts'
import { createCors } from '../shared/platform/http/cors.ts'
import { createCursors, cursorPurpose } from '../shared/platform/http/pagination/cursors.ts'
import { createLists } from '../shared/platform/http/pagination/lists.ts'
import type { Draining } from '../shared/platform/http/server/drain.ts'
import { healthRoutes } from '../shared/platform/http/server/health.ts'
import type { AnsweredRequest, Route } from '../shared/platform/http/server/routes.ts'
import { observeRequests } from '../shared/platform/metrics/request-metrics.ts'
import { metricsRoute } from '../shared/platform/metrics/serve-metrics.ts'
import type { ProblemTable } from '../shared/platform/problems/problem-document.ts'
import type { Systems } from '../shared/platform/systems/systems.ts'
import { corsFields } from '../shared/protocol/authentication/cors-fields.ts'
import { trustedOrigins } from '../shared/protocol/authentication/cross-site.ts'
import { createSessionCookie } from '../shared/protocol/authentication/session/session-cookie.ts'
import { reportUses } from '../shared/protocol/authentication/signed-request/report-uses.ts'
import { problemsOf } from '../shared/protocol/problems/catalogue.ts'
import { createLoginThrottle } from '../shared/server/login-throttle/count-attempts.ts'
import { observeServer } from '../shared/server/metrics/server-metrics.ts'
import type { AuthConsoleServer, Console } from '../shared/server/pages/console.ts'
import { documentationRoutes } from '../shared/server/pages/routes.ts'
import { storeSecondFactorRoles } from './access/change-catalogue.ts'
import { createResourceServers, storeOwnAudience } from './access/resource-servers.ts'
import { createRoles } from './access/roles.ts'
import { createApiKeys } from './api-keys/api-keys.ts'
import { createKnownKeys } from './api-keys/known-keys.ts'
import { recordRefusals, recordWebhookChanges, recordWebhookPauses } from './audit/audit.ts'
import { createChainedLog } from './audit/chained-log.ts'
import { readEntries } from './audit/read-entries.ts'
import { createSignIn } from './authorization/sign-in.ts'
import { createClients } from './clients/clients.ts'
import type { AuthConfig } from './config.ts'
import { createAuthApp } from './http/app.ts'
import { createInternalRoutes } from './http/internal/index.ts'
import { createInternalNonces } from './http/internal/nonces.ts'
import { createServiceOf } from './http/internal/service-of.ts'
import { isForScripts } from './http/oauth/index.ts'
import type { AuthServices } from './http/services/auth-services.ts'
import type { KeyRing } from './key-ring/key-ring.ts'
import { createLogins } from './logins/create-logins.ts'
import { verifyBasic } from './logins/verify-password.ts'
import { createOAuth, createOAuthSystems } from './oauth/oauth.ts'
import { createPasswordHashing, type HashParameters } from './passwords/password-hashing.ts'
import { createCatalogues } from './principals/catalogue.ts'
import { FeedReader } from './principals/feed-reader.ts'
import { createOwnPrincipals } from './principals/own-feed.ts'
import { PrincipalPublisher } from './principals/principal-publisher.ts'
import { createPrincipalReader } from './principals/principal-reader.ts'
import { createSecondFactors } from './second-factors/create-second-factors.ts'
import { narrowCatalogue } from './services/narrow.ts'
import { createServices } from './services/services.ts'
import { createSealing } from './store/sealing.ts'
import { parseSecretsKeys } from './store/secrets-keys.ts'
import { createTokens } from './tokens/create-tokens.ts'
import { createDigestSecrets } from './users/digest-secrets.ts'
import { createPasswordResets } from './users/password-resets.ts'
import { createUsers } from './users/users.ts'
import { dependenciesOf } from './wiring/dependencies.ts'
import { createAuthHousekeeping } from './wiring/housekeeping.ts'
import { createKeyOperationRecording } from './wiring/key-operations.ts'
import { countLogins, countServiceRequests, observeAuthServer } from './wiring/metrics.ts'
import { createCallerAuthentication } from './wiring/schemes.ts'
import { createServiceCallers } from './wiring/service-callers.ts'

/** The parts of an auth server that differ between production and tests. */
export interface AuthResources extends Systems {
  readonly console: Console<AuthConsoleServer>
  readonly keyRing: KeyRing
  /** Tells whether the process is shutting down. */
  readonly draining?: Pick<Draining, 'hasBegun'>
  /** All accepted values of SERVICE_SECRET. */
  readonly serviceSecrets: readonly string[]
  /** SECRETS_KEY: the first key encrypts, all keys decrypt. */
  readonly secretsKeys: readonly string[]
  /** The cost of a password's hash; for tests alone. Production has the default, and no setting for it. */
  readonly hashParameters?: HashParameters
}

/** An auth server. */
export type AuthServer = ReturnType<typeof createAuthServer>

/** Creates an auth server that does not listen yet. */
export function createAuthServer(config: AuthConfig, given: AuthResources) {
  const { tracing } = given
  const resources = { ...given, database: tracing?.database(given.database) ?? given.database }
  const { clock, ids, log, metrics } = resources
  const parts = createParts(config, resources)
  const { publisher, audit, users, apiKeys, digestSecrets, hashing, ownPrincipals } = parts
  const housekeeping = createAuthHousekeeping(resources)
  const dependencies = dependenciesOf(parts)
  observeServer(metrics, 'auth', { dependencies, housekeeping, hashing: () => hashing.withPermit.load() })
  observeAuthServer(parts, config.keyRules)
  const keyOperations = createKeyOperationRecording({ ...resources, audit })
  const authentication = createCallerAuthentication(config, parts)
  const { app, endpoints } = createAuthApp(config, {
    pipeline: { ...authentication, audit },
    services: servicesOf(config, { ...parts, ...authentication }),
    decisions: { serviceOf: createServiceOf(parts), inCatalogue: parts.inCatalogue },
    openRoutes: [
      ...healthRoutes(dependencies, resources.draining),
      ...(config.metricsPort === undefined ? [metricsRoute(metrics)] : []),
      ...documentationRoutes({ ...config, server: 'auth' }),
    ],
    internalRoutes: internalRoutesOf(config, resources, parts),
    cors: createCors(trustedOrigins(config), corsFields, isForScripts),
    console: resources.console,
    clock,
    ids,
    log,
    observe: observeAll(resources, parts.services),
    trace: tracing?.traceRequest,
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

type Parts = ReturnType<typeof createParts>

/** Observes each request, and notes the service that it is of. */
function observeAll(
  { clock, log, metrics }: AuthResources,
  services: Parts['services'],
): (request: AnsweredRequest) => void {
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

/** Creates the services of the server, without HTTP. */
function createParts(config: AuthConfig, resources: AuthResources) {
  const { database, cache, clock, ids, keyRing, log, metrics } = resources
  const secretsKeys = parseSecretsKeys(resources.secretsKeys.join(','))
  const sealing = createSealing(secretsKeys)
  const hashing = createPasswordHashing({ concurrency: config.hashConcurrency, parameters: resources.hashParameters })
  const publisher = openPublisher(resources)
  const feedReader = new FeedReader({ database, cache, clock })
  publisher.onChange(() => feedReader.look())
  const catalogues = createCatalogues(database)
  publisher.onOtherInstance(() => catalogues.clear())
  const tokens = createTokens(config, { keyRing, secretsKeys, clock, ids })
  const principals = createPrincipalReader({ database, clock, catalogues })
  const loginThrottle = createLoginThrottle({
    cache,
    clock,
    ids,
    limits: config.loginFailures,
    secrets: resources.serviceSecrets,
    throttleGenerationOf: async (account) => (await principals.record(account))?.throttleGeneration,
  })
  const audit = createChainedLog({ database, clock, log, secretsKeys })
  const { publicOrigins } = config
  const systems = {
    ...resources,
    publisher,
    audit,
    loginThrottle,
    accountLocks: loginThrottle,
    hashing,
    sealing,
    publicOrigins,
  }
  const secondFactors = createSecondFactors(systems)
  const ownPrincipals = createOwnPrincipals({ ...systems, feedReader })
  const apiKeys = createApiKeys(config, systems)
  return {
    ...systems,
    secretsKeys,
    secondFactors,
    catalogues,
    feedReader,
    tokens,
    users: createUsers(systems),
    roles: createRoles(systems),
    resourceServers: createResourceServers(systems),
    passwordResets: createPasswordResets(systems),
    digestSecrets: createDigestSecrets(systems),
    services: createServices(config, systems),
    clients: createClients(config, systems),
    apiKeys,
    ownPrincipals,
    knownKeys: createKnownKeys(apiKeys, { principals: ownPrincipals, clock }),
    logins: countLogins(metrics, createLogins(config, { ...systems, ...tokens, secondFactors })),
    principal: principals.record,
    inCatalogue: principals.inCatalogue,
  }
}

function openPublisher(resources: AuthResources): PrincipalPublisher {
  const { database, cache, clock, log, keyRing } = resources
  const publishedKeys = () => keyRing.publishedKeys()
  const publisher = new PrincipalPublisher({ database, cache, clock, log, publishedKeys })
  keyRing.onChange(() => void publisher.publish())
  return publisher
}

/** Gathers the services behind the public endpoints. */
function servicesOf(
  config: AuthConfig,
  parts: Parts & Pick<ReturnType<typeof createCallerAuthentication>, 'findCredentials' | 'refuseCrossSite'>,
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
function internalRoutesOf(config: AuthConfig, resources: AuthResources, parts: Parts): Route[] {
  const { serviceSecrets: secrets, database, cache, clock, keyRing } = resources
  const { publisher, logins, audit, services } = parts
  const nonces = { cache: config.redisUrl === undefined ? undefined : cache, clock }
  const history = createKnownHistory(database)
  const problems: ProblemTable = problemsOf('auth', config.expiredTokenStatus)
  return createInternalRoutes({
    ...parts,
    secrets,
    serviceOf: createServiceOf({ services }),
    useNonce: createInternalNonces(nonces),
    publishedKeys: () => keyRing.publishedKeys(),
    instanceId: () => publisher.instanceId(),
    principal: (username) => publisher.fill(username),
    catalogue: () => publisher.catalogue(),
    feedStreams: config.feedStreams,
    sightOf: async (resourceServer) => narrowCatalogue(await parts.catalogues.latest(), resourceServer),
    describe: () => ({ ...descriptionOf(config), history: history.present() ?? null }),
    statusOf: (code) => problems[code]?.status ?? 400,
    ...createServiceCallers(config, { ...parts, history }),
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

/** What the settings say that services need. */
const descriptionOf = ({
  issuer,
  schemes,
  signatureTtlSeconds,
  sessionIdleTtlSeconds,
  expiredTokenStatus,
  publicOrigins,
}: AuthConfig) => ({
  issuer,
  schemes: [...schemes],
  signatureTtlSeconds,
  sessionIdleTtlSeconds,
  expiredTokenStatus,
  publicOrigins,
})
