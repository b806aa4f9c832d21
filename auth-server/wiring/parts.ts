/** The services of an auth server, without HTTP. */
import { createKnownHistory } from '../../shared/platform/history/history.ts'
import type { Draining } from '../../shared/platform/http/server/drain.ts'
import type { Systems } from '../../shared/platform/systems/systems.ts'
import type { CrossSiteSettings } from '../../shared/protocol/authentication/cross-site.ts'
import type { SchemeName } from '../../shared/protocol/authentication/scheme.ts'
import type { LoginThrottleLimits } from '../../shared/server/login-throttle/attempt-keys.ts'
import { createLoginThrottle } from '../../shared/server/login-throttle/count-attempts.ts'
import type { AuthConsoleServer, Console } from '../../shared/server/pages/console.ts'
import { createResourceServers } from '../access/resource-servers.ts'
import { createRoles } from '../access/roles.ts'
import { createApiKeys } from '../api-keys/api-keys.ts'
import { createKnownKeys } from '../api-keys/known-keys.ts'
import { createChainedLog } from '../audit/chained-log.ts'
import { createClients } from '../clients/clients.ts'
import type { KeyRing } from '../key-ring/key-ring.ts'
import { createLogins } from '../logins/create-logins.ts'
import type { LoginsSettings } from '../logins/login-systems.ts'
import { createPasswordHashing, type HashParameters } from '../passwords/password-hashing.ts'
import { createCatalogues } from '../principals/catalogue.ts'
import { FeedReader } from '../principals/feed-reader.ts'
import { createOwnPrincipals } from '../principals/own-feed.ts'
import { PrincipalPublisher } from '../principals/principal-publisher.ts'
import { createPrincipalReader } from '../principals/principal-reader.ts'
import { createSecondFactors } from '../second-factors/create-second-factors.ts'
import { createServices } from '../services/services.ts'
import { createSealing } from '../store/sealing.ts'
import { parseSecretsKeys } from '../store/secrets-keys.ts'
import { createTokens } from '../tokens/create-tokens.ts'
import { createDigestSecrets } from '../users/digest-secrets.ts'
import { createPasswordResets } from '../users/password-resets.ts'
import { createUsers } from '../users/users.ts'
import { countLogins } from './metrics.ts'

/** The settings that the services and the schemes read. */
export interface AuthSettings extends LoginsSettings, CrossSiteSettings {
  /** AUDIENCE. */
  readonly audience: string
  readonly hashConcurrency: number
  readonly issuer: string
  readonly loginFailures: LoginThrottleLimits
  readonly publicOrigin: string
  readonly rsaPairsPerMinute: number
  /** The enabled schemes (AUTH_SCHEMES). */
  readonly schemes: readonly SchemeName[]
  readonly signatureTtlSeconds: number
}

/** The parts of an auth server that differ between production and tests. */
export interface AuthResources extends Systems {
  readonly console: Console<AuthConsoleServer>
  readonly keyRing: KeyRing
  /** Tells whether the process is shutting down. */
  readonly draining?: Draining
  /** All accepted values of SERVICE_SECRET. */
  readonly serviceSecrets: readonly string[]
  /** SECRETS_KEY: the first key encrypts, all keys decrypt. */
  readonly secretsKeys: readonly string[]
  /** The cost of a password's hash; for tests alone. Production has the default, and no setting for it. */
  readonly hashParameters?: HashParameters
}

/** The services of one process. */
export type AuthParts = ReturnType<typeof createParts>

/** Creates them. */
export function createParts(config: AuthSettings, resources: AuthResources) {
  const { database, clock } = resources
  const secretsKeys = parseSecretsKeys(resources.secretsKeys.join(','))
  const sealing = createSealing(secretsKeys)
  const hashing = createPasswordHashing({ concurrency: config.hashConcurrency, parameters: resources.hashParameters })
  const publisher = openPublisher(resources)
  const feedReader = new FeedReader(resources)
  publisher.onChange(() => feedReader.look())
  const catalogues = createCatalogues(database)
  publisher.onOtherInstance(() => catalogues.clear())
  const tokens = createTokens(config, { ...resources, secretsKeys })
  const principals = createPrincipalReader({ database, clock, catalogues })
  const loginThrottle = createLoginThrottle({
    ...resources,
    limits: config.loginFailures,
    secrets: resources.serviceSecrets,
    throttleGenerationOf: async (account) => (await principals.record(account))?.throttleGeneration,
  })
  const audit = createChainedLog({ ...resources, secretsKeys })
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
    history: createKnownHistory(database),
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
    logins: countLogins(resources.metrics, createLogins(config, { ...systems, ...tokens, secondFactors })),
    principal: principals.record,
    inCatalogue: principals.inCatalogue,
  }
}

function openPublisher(resources: AuthResources): PrincipalPublisher {
  const { keyRing } = resources
  const publisher = new PrincipalPublisher({ ...resources, publishedKeys: () => keyRing.publishedKeys() })
  keyRing.onChange(() => void publisher.publish())
  return publisher
}
