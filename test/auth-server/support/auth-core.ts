import { createHash, generateKeyPairSync, type KeyObject } from 'node:crypto'
import { createResourceServers } from '../../../auth-server/access/resource-servers.ts'
import { createRoles } from '../../../auth-server/access/roles.ts'
import { createChainedLog } from '../../../auth-server/audit/chained-log.ts'
import type { OwnPasswordChange } from '../../../auth-server/logins/change-password.ts'
import { createLoginSystems, createLogins } from '../../../auth-server/logins/create-logins.ts'
import type { LoginRequest } from '../../../auth-server/logins/login.ts'
import type { LoginLifetimes } from '../../../auth-server/logins/refresh-token-family.ts'
import { createPasswordHashing } from '../../../auth-server/passwords/password-hashing.ts'
import { createCatalogues } from '../../../auth-server/principals/catalogue.ts'
import { PrincipalPublisher } from '../../../auth-server/principals/principal-publisher.ts'
import { createPrincipalReader } from '../../../auth-server/principals/principal-reader.ts'
import { createSecondFactors } from '../../../auth-server/second-factors/create-second-factors.ts'
import { createSealing } from '../../../auth-server/store/sealing.ts'
import { parseSecretsKeys, type SecretsKeys } from '../../../auth-server/store/secrets-keys.ts'
import type { AuthSystems } from '../../../auth-server/systems/auth-systems.ts'
import { createAccessTokenIssuer } from '../../../auth-server/tokens/access-tokens.ts'
import { createIdTokenIssuer, createIdTokenReader } from '../../../auth-server/tokens/id-tokens.ts'
import { createKeySignedIssuer } from '../../../auth-server/tokens/key-signed-tokens.ts'
import { createRefreshTokens } from '../../../auth-server/tokens/refresh-tokens.ts'
import { ensureAnonymous } from '../../../auth-server/users/create-user.ts'
import { createUsers } from '../../../auth-server/users/users.ts'
import type { Cache } from '../../../shared/platform/cache/cache.ts'
import { createMemoryCache } from '../../../shared/platform/cache/memory-cache.ts'
import { type Clock, systemClock } from '../../../shared/platform/clock.ts'
import type { Database } from '../../../shared/platform/database/database.ts'
import { createIdSource } from '../../../shared/platform/ids.ts'
import { createLog } from '../../../shared/platform/log/log.ts'
import { createMetrics } from '../../../shared/platform/metrics/metrics.ts'
import type { AccessTokenAlg } from '../../../shared/protocol/access-token/access-token.ts'
import { createAccessTokenVerifier } from '../../../shared/protocol/access-token/verify-access-token.ts'
import { createLoginThrottle } from '../../../shared/server/login-throttle/count-attempts.ts'
import { rsaPair } from '../../support/rsa-pair.ts'

/** What test servers are called. */
export const issuer = 'https://auth.example'

/** Whom test tokens are for. */
export const audience = 'deals'

/** A password that the policy accepts. */
export const goodPassword = 'correct horse battery'

const pairOf: Readonly<Record<AccessTokenAlg, () => { privateKey: KeyObject; publicKey: KeyObject }>> = {
  RS256: rsaPair,
  ES256: () => generateKeyPairSync('ec', { namedCurve: 'P-256' }),
  EdDSA: () => generateKeyPairSync('ed25519'),
}

/** One signing key for all tests of a file. */
export const testKey = generateTestKey()

/** A signing key under a kid of the right form. */
interface TestKey {
  readonly kid: string
  readonly alg: AccessTokenAlg
  readonly privateKey: KeyObject
  readonly publicKey: KeyObject
}

/** Makes a signing key for this algorithm. */
export function generateTestKey(alg: AccessTokenAlg = 'RS256'): TestKey {
  const { privateKey, publicKey } = pairOf[alg]()
  const kid = createHash('sha256')
    .update(publicKey.export({ type: 'spki', format: 'der' }))
    .digest('base64url')
  return { kid, alg, privateKey, publicKey }
}

/** Where everybody calls from. */
const clientAddress = '127.0.0.1'

const log = createLog({ level: 'silent', format: 'json' })

/** What a test server is made of; what is left out gets a default. */
export interface CoreOptions {
  readonly database: Database
  readonly clock: Clock
  readonly cache?: Cache
  readonly lifetimes?: Partial<LoginLifetimes>
  readonly maxLoginsPerUser?: number
  /** In place of one over `cache`. */
  readonly publisher?: PrincipalPublisher
  /** In place of a key that all tests share. */
  readonly secretsKeys?: SecretsKeys
}

/**
 * All services of an auth server over one database, as `server.ts` wires them; made again it is the server after a
 * restart.
 */
export type AuthCore = ReturnType<typeof createAuthCore>

const sharedKeys = parseSecretsKeys(Buffer.alloc(32, 7).toString('base64url'))

/** The systems of an auth server. Hashing is cheap, and nothing is logged. */
export function createAuthSystems(options: CoreOptions): AuthSystems {
  const { database, clock, cache = createMemoryCache(systemClock), secretsKeys = sharedKeys } = options
  const ids = createIdSource(clock)
  const ports = { database, cache, clock, log, publishedKeys: () => 'the same' }
  // What limits guessing has tests of its own.
  const many = { count: 100_000, seconds: 60 }
  const limits = { perAccount: many, perAddress: many, perAccountEverywhere: many }
  const loginThrottle = createLoginThrottle({
    cache: createMemoryCache(systemClock),
    clock,
    ids,
    limits,
    secrets: [issuer],
  })
  return {
    database,
    cache,
    clock,
    ids,
    log,
    metrics: createMetrics(),
    publisher: options.publisher ?? new PrincipalPublisher(ports),
    audit: createChainedLog({ database, clock, log, secretsKeys }),
    hashing: createPasswordHashing({
      concurrency: 2,
      maxQueued: 1000,
      parameters: { memoryKib: 64, passes: 1, lanes: 1 },
    }),
    loginThrottle,
    accountLocks: loginThrottle,
    sealing: createSealing(secretsKeys),
    publicOrigins: { auth: 'http://localhost:4000', deal: 'http://localhost:4001' },
  }
}

/** Wires an auth server without HTTP. */
export function createAuthCore(options: CoreOptions) {
  const systems = createAuthSystems(options)
  const { database, clock, ids } = systems
  const settings = {
    accessTokenTtlSeconds: 1800,
    refreshTokenTtlSeconds: 86_400,
    loginMaxTtlSeconds: 2_592_000,
    refreshRetryWindowSeconds: 60,
    keySignedTokenTtlSeconds: 600,
    sessionIdleTtlSeconds: 1800,
    sessionMaxTtlSeconds: 43_200,
    maxLoginsPerUser: options.maxLoginsPerUser ?? 100,
    ...options.lifetimes,
  }
  const signingKeys = { signingKey: () => testKey }
  const keys = { key: (kid: string) => (kid === testKey.kid ? testKey.publicKey : undefined) }
  const secondFactors = createSecondFactors(systems)
  const given = {
    ...systems,
    secondFactors,
    refreshTokens: createRefreshTokens({ secretsKeys: options.secretsKeys ?? sharedKeys, ids, issuer }),
    issueAccessToken: createAccessTokenIssuer({ keys: signingKeys, ids, issuer, audience }),
    issueIdToken: createIdTokenIssuer({ keys: signingKeys, issuer }),
    readIdTokenHint: createIdTokenReader({ keys, issuer, clock }),
    issueKeySignedToken: createKeySignedIssuer(signingKeys),
    verifyAccessToken: createAccessTokenVerifier({ keys, issuer, clock }),
  }
  const logins = createLogins(settings, given)
  const { passwords, logIn } = logins
  return {
    ...createLoginSystems(settings, given),
    secondFactors,
    users: createUsers(systems),
    passwords: {
      ...passwords,
      change: (change: Omit<OwnPasswordChange, 'clientAddress'>) => passwords.change({ clientAddress, ...change }),
    },
    logIn: (request: Omit<LoginRequest, 'clientAddress' | 'audience'> & Partial<Pick<LoginRequest, 'audience'>>) =>
      logIn({ clientAddress, audience: null, ...request }),
    startSession: logins.startSession,
    loginLists: logins.loginLists,
    refresh: logins.refresh,
    logOut: logins.logOut,
    roles: createRoles(systems),
    resourceServers: createResourceServers(systems),
    record: createPrincipalReader({ database, clock, catalogues: createCatalogues(database) }).record,
    ensureAnonymous: () => ensureAnonymous(systems),
  }
}
