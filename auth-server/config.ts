/** The settings of the auth server with their defaults. Only this file of the server reads the environment. */

import { userInfo } from 'node:os'
import * as z from 'zod'
import {
  anyTextRule,
  goneSettings,
  integer,
  listOf,
  oneOf,
  readBy,
  readSettings,
  type Setting,
  type SettingProblem,
  secrets,
  text,
  url,
} from '../shared/platform/settings/settings.ts'
import { accessTokenAlgs } from '../shared/protocol/access-token/access-token.ts'
import {
  commonSettings,
  databaseUrl,
  halfCertificate,
  type Mode,
  missingSecrets,
  missingSettings,
  sharedConfig,
  sharedPort,
  shareOf,
  workersWithoutServices,
} from '../shared/server/settings/common-settings.ts'
import { adminRole } from './principals/rights.ts'

const isSecretsKey = (key: string) => /^[A-Za-z0-9_-]{43}$/.test(key) && Buffer.from(key, 'base64url').length === 32

const roleNameForm = /^[a-z0-9][a-z0-9._-]{0,62}$/

/** What other programs take for all or none, and who writes it here means no role of that name. */
const isSwitch = (word: string) => /^(\d+|true|false|yes|no|on|off|all|null|undefined)$/.test(word)

/** Roles with commas between, each once; `none` for no role. */
const rolesSchema = readBy<readonly string[]>((value) => {
  if (value.trim() === 'none') return []
  const roles = value.split(',').map((part) => part.trim())
  return roles.every((role) => roleNameForm.test(role) && !isSwitch(role)) && new Set(roles).size === roles.length
    ? roles
    : undefined
})

const secondFactorRoles: Setting<readonly string[] | undefined> = {
  meaning: `roles whose users need a second factor; by default in production ${adminRole}, otherwise none`,
  expected: 'names of roles, or none',
  fallback: undefined,
  schema: rolesSchema,
}

/** All settings of the auth server. `docs/settings.md` is generated from them. */
export const authSettings = {
  ...commonSettings,
  AUTH_DATABASE_URL: databaseUrl('the PostgreSQL database of the auth server'),
  KEYS_DIR: text('the key ring', './keys'),
  KEYS_PASSPHRASE: text('encrypts the private keys in KEYS_DIR', undefined, anyTextRule),
  SECRETS_KEY: secrets('encrypts at rest what must be recoverable', {
    expected: '32 bytes as base64url (43 characters)',
    test: isSecretsKey,
  }),
  FIRST_PASSWORD_FILE: text(
    'file that the password of the first user, admin, is written to (mode 0600); without one it is printed once, ' +
      'and in production the server does not start without a first user',
    undefined,
  ),
  ACCESS_TOKEN_TTL: integer('life of an access token in seconds', { fallback: 1800, min: 1, max: 86_400 }),
  REFRESH_TOKEN_TTL: integer('life of a refresh token in seconds', { fallback: 86_400, min: 1, max: 31_536_000 }),
  LOGIN_MAX_TTL: integer('life of a login in seconds, however often refreshed', {
    fallback: 2_592_000,
    min: 1,
    max: 315_360_000,
  }),
  REFRESH_RETRY_WINDOW: integer('seconds in which a refresh may be repeated after its answer was lost', {
    fallback: 60,
    min: 1,
    max: 3600,
  }),
  MAX_LOGINS_PER_USER: integer(
    'live logins of a user, sessions included; the one longest not used ends for a new one',
    {
      fallback: 100,
      min: 1,
      max: 10_000,
    },
  ),
  SECOND_FACTOR_ROLES: secondFactorRoles,
  KEY_SIGNED_TOKEN_TTL: integer('life of a key-signed token in seconds', { fallback: 1800, min: 1, max: 86_400 }),
  JWT_ALG: oneOf('algorithm of newly generated keys of access tokens', accessTokenAlgs, 'RS256'),
  KEY_BITS: integer('size of newly generated RSA keys', {
    fallback: 2048,
    min: 2048,
    max: 4096,
    among: [2048, 3072, 4096],
  }),
  RSA_PAIRS_PER_MINUTE: integer(
    'RSA pairs that are made for the API keys of one user in a minute; divided among workers',
    { fallback: 10, min: 1, max: 1000 },
  ),
  KEY_MAX_AGE_DAYS: integer('days after which keys rotate replaces a key', { fallback: 30, min: 1, max: 3650 }),
}

/** Settings of the operators' tool alone. It reads those of the server too. */
export const operatorSettings = {
  DEAL_DATABASE_URL: databaseUrl(
    "the deal server's PostgreSQL database, for what the tool says and does about storage",
  ),
  AUTH_URL: url('where the tool finds the auth server, to verify the published keys; by default its public origin'),
  KEYHOLD_OPERATOR: text(
    'the name of the operator in the audit log, for commands that work without a login; by default the user of the ' +
      'operating system',
    undefined,
  ),
  FORMER_SECRETS_KEYS: listOf('keys that SECRETS_KEY held formerly, for nothing but checks of the audit log', {
    expected: 'keys as in SECRETS_KEY, with commas between',
    fallback: [],
    part: z.string().refine(isSecretsKey),
  }),
}

const insteadOfLogin = 'must be unset: keyhold login and keyhold api do what the tool did over HTTP'

/** Settings of the tool in former releases. */
const formerOperatorSettings = {
  KEYHOLD_ADMIN_USER: insteadOfLogin,
  KEYHOLD_ADMIN_PASSWORD: insteadOfLogin,
  KEYHOLD_ADMIN_CODE: insteadOfLogin,
}

const dayMs = 86_400_000

/** The configuration of one auth server process. */
export type AuthConfig = ReturnType<typeof readAuthConfig>['config']

/** Reads the configuration, and lists all problems of the settings. */
export function readAuthConfig(mode: Mode, environment: Readonly<Record<string, string | undefined>> = process.env) {
  const { values, problems } = readSettings(authSettings, environment)
  const { AUTH_DATABASE_URL, REDIS_URL, SERVICE_SECRET, SECRETS_KEY } = values
  const all: SettingProblem[] = [
    ...problems,
    ...missingSettings(mode, values, { AUTH_DATABASE_URL, REDIS_URL }),
    ...halfCertificate(values),
    ...sharedPort(['AUTH_PORT', values.AUTH_PORT], ['METRICS_PORT', values.METRICS_PORT]),
    ...workersWithoutServices(mode, values),
    ...missingSecrets(values, { SERVICE_SECRET, SECRETS_KEY }),
  ]
  const shared = sharedConfig(values)
  const config = {
    ...shared,
    port: values.AUTH_PORT,
    publicOrigin: shared.publicOrigins.auth,
    databaseUrl: AUTH_DATABASE_URL,
    keysDir: values.KEYS_DIR,
    newKeys: { bits: values.KEY_BITS, jwtAlg: values.JWT_ALG, passphrase: values.KEYS_PASSPHRASE },
    firstPasswordFile: values.FIRST_PASSWORD_FILE,
    /** Who starts the server: the actor of what a first start makes. */
    operator: systemUser(),
    rsaPairsPerMinute: shareOf(values.RSA_PAIRS_PER_MINUTE, values.WORKERS),
    feedStreams: { maxOfUser: shareOf(64, values.WORKERS), maxInAll: shareOf(2_000, values.WORKERS) },
    secretsKeys: SECRETS_KEY,
    accessTokenTtlSeconds: values.ACCESS_TOKEN_TTL,
    refreshTokenTtlSeconds: values.REFRESH_TOKEN_TTL,
    loginMaxTtlSeconds: values.LOGIN_MAX_TTL,
    refreshRetryWindowSeconds: values.REFRESH_RETRY_WINDOW,
    maxLoginsPerUser: values.MAX_LOGINS_PER_USER,
    secondFactorRoles: values.SECOND_FACTOR_ROLES ?? (shared.production ? [adminRole] : []),
    keySignedTokenTtlSeconds: values.KEY_SIGNED_TOKEN_TTL,
    keyRules: {
      maxAgeMs: values.KEY_MAX_AGE_DAYS * dayMs,
      longestTokenLifeMs: { jwt: values.ACCESS_TOKEN_TTL * 1000, 'key-signed': values.KEY_SIGNED_TOKEN_TTL * 1000 },
    },
  }
  return { config, problems: all }
}

/** The user of the operating system; undefined when it has no name. */
function systemUser(): string | undefined {
  try {
    return userInfo().username
  } catch {
    return undefined
  }
}

/** The audit log keeps names of this form alone. */
const operatorProblems = (operator: string | undefined): SettingProblem[] =>
  operator === undefined || /^[A-Za-z0-9._@-]{1,64}$/.test(operator)
    ? []
    : [{ variable: 'KEYHOLD_OPERATOR', expected: 'must be 1 to 64 letters, digits or any of . _ @ -' }]

/** Reads the configuration of the operators' tool from the servers' settings: both use the same keys and lifetimes. */
export function readOperatorConfig(environment: Readonly<Record<string, string | undefined>> = process.env) {
  const { config, problems } = readAuthConfig('together', { ...environment, NODE_ENV: undefined, WORKERS: undefined })
  const { values, problems: ofTool } = readSettings(operatorSettings, environment)
  const operator = values.KEYHOLD_OPERATOR ?? config.operator
  const keyRing = {
    directory: config.keysDir,
    ...config.newKeys,
    rules: config.keyRules,
  }
  const authUrl = (values.AUTH_URL ?? config.publicOrigin).replace(/\/+$/, '')
  const all = [
    ...problems,
    ...ofTool,
    ...operatorProblems(values.KEYHOLD_OPERATOR),
    ...goneSettings(formerOperatorSettings, environment),
  ]
  const { FORMER_SECRETS_KEYS: formerSecretsKeys, DEAL_DATABASE_URL: dealDatabaseUrl } = values
  const own = { keyRing, authUrl, operator, formerSecretsKeys, dealDatabaseUrl }
  return { config: { ...config, ...own }, problems: all }
}
