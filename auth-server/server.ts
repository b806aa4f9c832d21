/** The composition root of the auth server: the one place that sees all its parts, in production and in tests. */

import type { Cache } from '../shared/platform/cache/cache.ts'
import type { Clock } from '../shared/platform/clock.ts'
import type { Database } from '../shared/platform/database/database.ts'
import { createHousekeeping } from '../shared/platform/database/housekeeping.ts'
import { createCors } from '../shared/platform/http/cors.ts'
import { createCursors, cursorPurpose } from '../shared/platform/http/pagination/cursors.ts'
import { createLists } from '../shared/platform/http/pagination/lists.ts'
import type { Draining } from '../shared/platform/http/server/draining.ts'
import { type Dependency, healthRoutes } from '../shared/platform/http/server/health.ts'
import { createApp, type Route } from '../shared/platform/http/server/routes.ts'
import type { IdSource } from '../shared/platform/ids.ts'
import type { Log } from '../shared/platform/log/log.ts'
import { createMetrics, type Metrics } from '../shared/platform/metrics/metrics.ts'
import { observeRequests } from '../shared/platform/metrics/request-metrics.ts'
import { metricsRoute } from '../shared/platform/metrics/serve-metrics.ts'
import { Unavailable } from '../shared/platform/problems/errors.ts'
import { rememberVerifiedTokens } from '../shared/protocol/access-token/verified-token-cache.ts'
import { createAccessTokenVerifier } from '../shared/protocol/access-token/verify-access-token.ts'
import { authenticationOptions } from '../shared/protocol/authentication/app-options.ts'
import { createAuthentication } from '../shared/protocol/authentication/authenticate.ts'
import { corsFields } from '../shared/protocol/authentication/cors-fields.ts'
import {
  createDigestCountExpiry,
  createUsedSignatureExpiry,
} from '../shared/protocol/authentication/credential-expiry.ts'
import { createCrossSiteRule, trustedOrigins } from '../shared/protocol/authentication/cross-site.ts'
import { createSessionCookie } from '../shared/protocol/authentication/session/session-cookie.ts'
import { createUsedSignatures } from '../shared/protocol/authentication/signed-request/used-signatures.ts'
import { createKeySignedVerifier } from '../shared/protocol/key-signed-token/verify-key-signed-token.ts'
import { createGuesses } from '../shared/protocol/login-throttle/count-attempts.ts'
import { observeAuthentications } from '../shared/protocol/metrics/authentication-metrics.ts'
import { observeServer } from '../shared/protocol/metrics/server-metrics.ts'
import { documentationRoutes } from '../shared/protocol/pages/routes.ts'
import { createApiKeys } from './api-keys/api-keys.ts'
import { createApiKeyExpiry } from './api-keys/housekeeping.ts'
import { createChainedLog } from './audit/chained-log.ts'
import { recordRefusals } from './audit/limit-refusals.ts'
import { readEntries } from './audit/read-entries.ts'
import { observeAuthServer } from './auth-metrics.ts'
import type { AuthConfig } from './config.ts'
import { apiKeysRoutes } from './http/endpoints/api-keys.ts'
import { auditRoute } from './http/endpoints/audit.ts'
import { digestSecretRoute } from './http/endpoints/digest-secret.ts'
import { internalRoutes, principalEndpoints } from './http/endpoints/internal.ts'
import { apiKeyEndpoints } from './http/endpoints/internal-api-keys.ts'
import { digestSecretEndpoint } from './http/endpoints/internal-digest-secrets.ts'
import { limitRefusalEndpoint } from './http/endpoints/internal-limit-refusals.ts'
import { passwordEndpoint } from './http/endpoints/internal-passwords.ts'
import { sessionEndpoints } from './http/endpoints/internal-sessions.ts'
import { keyDocumentRoutes } from './http/endpoints/key-documents.ts'
import { keySignedTokenRoutes } from './http/endpoints/key-signed-tokens.ts'
import { keyStatusRoute } from './http/endpoints/key-status.ts'
import { loginRoutes } from './http/endpoints/login.ts'
import { meRoute } from './http/endpoints/me.ts'
import { oauthRoutes } from './http/endpoints/oauth.ts'
import { sessionsRoutes } from './http/endpoints/sessions.ts'
import { userSessionsRoutes } from './http/endpoints/user-sessions.ts'
import { usersRoutes } from './http/endpoints/users.ts'
import { createInternalNonces } from './http/internal-nonces.ts'
import { oauthProblemForm } from './http/oauth/oauth-answers.ts'
import { authOpenApiRoutes } from './http/openapi.ts'
import { createAuthProblems } from './http/problems.ts'
import type { KeyRing } from './key-ring/key-ring.ts'
import { createPasswordChanges } from './logins/change-password.ts'
import { createLoginExpiry, createSessionExpiry } from './logins/housekeeping.ts'
import { createKeySignedLogin } from './logins/key-signed-login.ts'
import { createLoginLists } from './logins/list-logins.ts'
import { createLogIn } from './logins/login.ts'
import { createLogOut } from './logins/logout.ts'
import { createRecentProof } from './logins/recent-proof.ts'
import { createRefresh } from './logins/refresh.ts'
import { createFamilyStore } from './logins/refresh-token-families.ts'
import { endAllLoginsOf, endByPublicId } from './logins/revoke-login.ts'
import { createSessionStore } from './logins/session-store.ts'
import { createStartSession } from './logins/start-session.ts'
import { createStoredSessions } from './logins/use-session.ts'
import { verifyBasic } from './logins/verify-password.ts'
import { createEndedTokenExpiry } from './oauth/end-token.ts'
import { createOAuth } from './oauth/oauth.ts'
import { createPasswordHashing } from './passwords/password-hashing.ts'
import { createAuthSchemes } from './schemes.ts'
import { digestCounts, usedSignatures } from './store/schema.ts'
import { createSealing } from './store/sealing.ts'
import { parseSecretsKeys } from './store/secrets-keys.ts'
import { createAccessTokenIssuer } from './tokens/access-tokens.ts'
import { createKeySignedIssuer } from './tokens/key-signed-tokens.ts'
import { createRefreshTokens } from './tokens/refresh-tokens.ts'
import { createDigestSecrets } from './users/digest-secrets.ts'
import { createPrincipalPublisher } from './users/principal-publisher.ts'
import { readPrincipalRecord } from './users/principal-record.ts'
import { createUsers } from './users/users.ts'

/** What differs between production and tests. */
export interface AuthResources {
  readonly database: Database
  readonly cache: Cache
  readonly clock: Clock
  readonly ids: IdSource
  readonly log: Log
  readonly keyRing: KeyRing
  /** Of the process; its own when left out. */
  readonly metrics?: Metrics
  /** Whether the process has been told to end. */
  readonly draining?: Pick<Draining, 'hasBegun'>
  /** SERVICE_SECRET: all that are accepted. */
  readonly serviceSecrets: readonly string[]
  /** SECRETS_KEY: the first encrypts, all decrypt. */
  readonly secretsKeys: readonly string[]
}

/** An auth server that does not listen yet. */
export function createAuthServer(config: AuthConfig, resources: AuthResources) {
  const { clock, ids, log, metrics = createMetrics() } = resources
  const parts = createParts(config, resources, metrics)
  const { publisher, housekeeping, audit, users, apiKeys, logins } = parts
  const problems = createAuthProblems(config.expiredTokenStatus)
  const documented = [
    ...openRoutes(config, resources, parts),
    ...tokenRoutesOf(config, resources, parts),
    ...callersRoutes(config, resources, parts),
    ...sessionRoutesOf(config, parts),
  ]
  const app = createApp({
    routes: [
      ...documented,
      ...authOpenApiRoutes({ routes: documented, problems, origin: config.publicOrigin, schemes: config.schemes }),
      ...internalRoutesOf(config, resources, parts),
    ],
    problems,
    ...authenticationOptions(config.schemes),
    otherProblemForm: oauthProblemForm,
    transport: config.transport,
    origin: config.publicOrigin,
    cors: createCors(trustedOrigins(config), corsFields),
    clock,
    ids,
    log,
    observe: observeRequests(metrics, 'auth'),
  })
  const start = () => {
    publisher.start()
    housekeeping.start()
    audit.start()
  }
  const stop = async () => {
    await housekeeping.stop()
    await audit.stop()
    await publisher.stop()
  }
  return { app, users, apiKeys, digestSecrets: logins.digestSecrets, start, stop }
}

type Parts = ReturnType<typeof createParts>

/** What the routes rest on, put together. */
function createParts(config: AuthConfig, resources: AuthResources, metrics: Metrics) {
  const { database, cache, clock, ids, log, keyRing } = resources
  const publisher = createPrincipalPublisher({
    ...{ database, cache, clock, log },
    publishedKeys: () => keyRing.publishedKeys(),
  })
  keyRing.onChange(() => void publisher.publish())
  const logins = createLogins(config, resources, publisher)
  const audit = createChainedLog({ database, clock, log, secretsKeys: logins.secretsKeys })
  const apiKeys = createApiKeys({
    ...{ database, clock, ids, sealing: logins.sealing, publisher },
    pairsPerMinute: config.rsaPairsPerMinute,
  })
  const users = createUsers({ database, clock, ids, hashing: logins.hashing, publisher })
  const refuseCrossSite = createCrossSiteRule(config)
  const principals = { get: (username: string) => readPrincipalRecord({ database, clock }, username) }
  const { authenticate, presented } = createAuthentication({
    schemes: createAuthSchemes(config, { ...resources, ...logins, audit, principals, apiKeys }),
    principals,
    refuseCrossSite,
    clock,
    observe: observeAuthentications(metrics, 'auth'),
  })
  const housekeeping = housekeepingOf(resources)
  const lists = createLists({ origin: config.publicOrigin, cursors: cursorsUnder(resources.secretsKeys) })
  const dependencies = dependenciesOf(resources, publisher)
  observeServer(metrics, 'auth', { dependencies, housekeeping, hashing: () => logins.hashing.withPermit.load() })
  observeAuthServer(metrics, { keyRing, publisher, audit, clock })
  return {
    ...{ publisher, logins, audit, apiKeys, users, authenticate, presented, refuseCrossSite, housekeeping, lists },
    ...{ dependencies, metrics },
  }
}

/** The routes that need no caller, or take a credential of their own. */
const openRoutes = (
  config: AuthConfig,
  { keyRing, draining }: AuthResources,
  { dependencies, metrics, logins, audit }: Parts,
): Route[] => [
  ...healthRoutes(dependencies, draining),
  ...(config.metricsPort === undefined ? [metricsRoute(metrics)] : []),
  ...documentationRoutes({ ...config, server: 'auth' }),
  ...keyDocumentRoutes(keyRing),
  ...(config.schemes.includes('key-signed') ? keySignedTokenRoutes({ ...logins, audit }) : []),
]

/** The routes that need a caller. */
const callersRoutes = (
  { publicOrigin: origin }: AuthConfig,
  { database, keyRing }: AuthResources,
  { authenticate, logins, users, apiKeys, lists, audit }: Parts,
): Route[] => [
  meRoute({ authenticate, rolesOf: async (username) => (await users.read(username)).roles }),
  ...usersRoutes({ authenticate, users, passwords: logins.passwords, lists, audit }),
  ...apiKeysRoutes({ ...logins, authenticate, apiKeys, lists, audit }),
  digestSecretRoute({ ...logins, authenticate, audit }),
  keyStatusRoute({ authenticate, keyRing }),
  auditRoute({ authenticate, origin, readEntries: (page) => readEntries(database, page) }),
]

/** The routes of tokens: the token flow, and OAuth. */
function tokenRoutesOf(
  config: AuthConfig,
  { database, clock, keyRing }: AuthResources,
  { authenticate, logins, apiKeys, audit }: Parts,
): Route[] {
  const { issuer, publicOrigin: origin, accessTokenTtlSeconds } = config
  const oauth = createOAuth({
    ...{ ...logins, database, clock, apiKeys, issuer, accessTokenTtlSeconds },
    tokenEndpoint: `${origin}/oauth/token`,
    principal: (username) => readPrincipalRecord({ database, clock }, username),
    verifyKeySignedToken: createKeySignedVerifier({ keys: keyRing.verificationKeys('key-signed'), clock }),
    servesKeySigned: config.schemes.includes('key-signed'),
  })
  const ports = { ...logins, ...oauth, authenticate, audit, origin }
  return [...loginRoutes(ports), ...oauthRoutes(config, ports)]
}

/** The routes of sessions and of lists of logins. */
function sessionRoutesOf(config: AuthConfig, parts: Parts): Route[] {
  const { logins } = parts
  const ports = {
    ...parts,
    ...logins,
    ownerOf: logins.sessionStore.ownerOf,
    endByPublicId: (ending: Parameters<typeof endByPublicId>[1]) => endByPublicId(logins, ending),
    endAllLoginsOf: (ending: Parameters<typeof endAllLoginsOf>[1]) => endAllLoginsOf(logins, ending),
    cookie: createSessionCookie(config),
    origins: config,
    isServed: config.schemes.includes('session'),
  }
  return [...sessionsRoutes(ports), ...userSessionsRoutes(ports)]
}

/** What expires. */
const housekeepingOf = ({ database, clock, log }: AuthResources) =>
  createHousekeeping({
    ...{ database, clock, log, name: 'auth' },
    jobs: [
      createLoginExpiry(clock),
      createSessionExpiry(clock),
      createApiKeyExpiry(clock),
      createEndedTokenExpiry(clock),
      createUsedSignatureExpiry(usedSignatures),
      createDigestCountExpiry(digestCounts),
    ],
  })

/** The routes for deal servers. */
const internalRoutesOf = (
  { redisUrl }: AuthConfig,
  { serviceSecrets: secrets, cache, clock, keyRing }: AuthResources,
  { publisher, apiKeys, logins, audit }: Parts,
): Route[] => {
  const useNonce = createInternalNonces({ cache: redisUrl === undefined ? undefined : cache, clock })
  return internalRoutes({ secrets, clock, useNonce, publishedKeys: () => keyRing.publishedKeys() }, [
    ...principalEndpoints({
      principal: (username) => publisher.fill(username),
      installationId: () => publisher.installationId(),
    }),
    ...apiKeyEndpoints({ apiKeys }),
    digestSecretEndpoint(logins.digestSecrets),
    passwordEndpoint({ secrets, verify: (presented) => verifyBasic({ ...logins, audit }, presented) }),
    ...sessionEndpoints(logins.sessions),
    limitRefusalEndpoint(recordRefusals(audit)),
  ])
}

const cursorsUnder = (secretsKeys: readonly string[]) =>
  createCursors(parseSecretsKeys(secretsKeys.join(',')).map((key) => key.derive(cursorPurpose)))

const dependenciesOf = (
  { database, cache, keyRing }: AuthResources,
  publisher: ReturnType<typeof createPrincipalPublisher>,
): Dependency[] => [
  { name: 'database', required: true, check: () => database.ping() },
  { name: 'cache', required: false, check: () => cache.ping() },
  { name: 'key-ring', required: false, check: () => requireNoProblem('key-ring', keyRing.problem()) },
  {
    name: 'principal-feed',
    required: false,
    check: () => requireNoProblem('principal-feed', publisher.health().problem),
  },
]

function createLogins(
  config: AuthConfig,
  resources: AuthResources,
  publisher: ReturnType<typeof createPrincipalPublisher>,
) {
  const { database, cache, clock, ids, log, keyRing } = resources
  const { issuer, audience } = config
  const secretsKeys = parseSecretsKeys(resources.secretsKeys.join(','))
  const keys = keyRing.verificationKeys('jwt')
  const verify = createAccessTokenVerifier({ keys, issuer, audience, clock })
  const { sessionIdleTtlSeconds, sessionMaxTtlSeconds, maxLoginsPerUser } = config
  const sessionStore = createSessionStore(database)
  const ports = {
    sessionStore,
    sessions: createStoredSessions({ sessionStore, cache, publisher, clock, sessionIdleTtlSeconds }),
    loginLists: createLoginLists({ database, clock, sessionIdleTtlSeconds }),
    ...{ sessionIdleTtlSeconds, sessionMaxTtlSeconds, maxLoginsPerUser },
    secretsKeys,
    database,
    clock,
    ids,
    log,
    publisher,
    guesses: createGuesses({ cache, clock, ids, limits: config.loginFailures, secrets: resources.serviceSecrets }),
    hashing: createPasswordHashing({ concurrency: config.hashConcurrency }),
    families: createFamilyStore(database),
    useSignature: createUsedSignatures(resources, 'auth'),
    issueAccessToken: createAccessTokenIssuer({ keys: keyRing, ids, issuer, audience }),
    refreshTokens: createRefreshTokens({ secretsKeys, ids, issuer }),
    sealing: createSealing(secretsKeys),
    issueKeySignedToken: createKeySignedIssuer(keyRing),
    keySignedTokenTtlSeconds: config.keySignedTokenTtlSeconds,
    verifyAccessToken: rememberVerifiedTokens(verify, { keys, clock }),
    lifetimes: {
      accessTokenTtlSeconds: config.accessTokenTtlSeconds,
      refreshTokenTtlSeconds: config.refreshTokenTtlSeconds,
      loginMaxTtlSeconds: config.loginMaxTtlSeconds,
      refreshRetryWindowSeconds: config.refreshRetryWindowSeconds,
    },
  }
  return {
    ...ports,
    logIn: createLogIn(ports),
    logInKeySigned: createKeySignedLogin(ports),
    startSession: createStartSession(ports),
    refresh: createRefresh(ports),
    logOut: createLogOut(ports),
    passwords: createPasswordChanges(ports),
    requireRecentProof: createRecentProof(ports),
    digestSecrets: createDigestSecrets(ports),
  }
}

function requireNoProblem(dependency: string, problem: string | undefined): void {
  if (problem !== undefined) throw new Unavailable(dependency)
}
