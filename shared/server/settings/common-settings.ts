/** The settings that both servers read. The `config.ts` of each server adds its own. */
import { availableParallelism } from 'node:os'
import * as z from 'zod'
import { parseTrustedProxies, type TrustedProxies } from '../../platform/http/transport.ts'
import { logLevels } from '../../platform/log/log-settings.ts'
import { databaseUrlForms, parseDatabaseUrl } from '../../platform/postgres/postgres-url.ts'
import { noRedis, parseRedisUrl, redisUrlForms } from '../../platform/redis/redis-url.ts'
import {
  integer,
  listOf,
  oneOf,
  origin,
  originSchema,
  port,
  rate,
  readableBy,
  readBy,
  type Setting,
  type SettingProblem,
  secrets,
  text,
  type Values,
} from '../../platform/settings/settings.ts'
import { type SchemeName, schemeNames } from '../../protocol/authentication/scheme.ts'
import { maxSignatureTtlSeconds } from '../../protocol/authentication/signature-parameters.ts'
import { tracingConfig, tracingSettings } from './tracing-settings.ts'

const trustProxy: Setting<TrustedProxies> = {
  meaning: 'proxies whose forwarding headers are believed: how many hops, or their addresses as CIDRs',
  expected: 'a number of hops, or comma-separated CIDRs',
  fallback: { hops: 0 },
  schema: readBy(parseTrustedProxies),
}

const isListenHost = (host: string) => /^[A-Za-z0-9.:-]{1,253}$/.test(host)

/** The setting with the database of a server. */
export const databaseUrl = (meaning: string) => text(meaning, undefined, readableBy(parseDatabaseUrl, databaseUrlForms))

/** The settings. `docs/settings.md` is generated from them. */
export const commonSettings = {
  AUTH_PORT: integer("the auth server's port", { fallback: 4000, min: 1, max: 65_535 }),
  DEAL_PORT: integer("the deal server's port", { fallback: 4001, min: 1, max: 65_535 }),
  HOST: text('the address to listen on', '127.0.0.1', { expected: 'a host name or address', test: isListenHost }),
  AUTH_PUBLIC_ORIGIN: origin('the origin under which clients see the auth server'),
  DEAL_PUBLIC_ORIGIN: origin('the origin under which clients see the deal server'),
  ISSUER: text('the claim iss of access tokens; by default the public origin of the auth server', undefined),
  AUDIENCE: text('the audience of the auth server and the deal server: the claim aud of their access tokens', 'deals'),
  DATA_DIR: text('where the embedded database, generated secrets and demo data are kept', './data'),
  REDIS_URL: text(
    'the cache: one Redis, or a master that Sentinels watch; none: no Redis on purpose, deal servers ask the auth server',
    undefined,
    readableBy((url) => url === noRedis || parseRedisUrl(url), `${redisUrlForms}, or none`),
  ),
  SERVICE_SECRET: secrets(
    "authenticates the deal server at the auth server's /internal, and what servers write to Redis",
    {
      expected: 'at least 32 characters without comma',
      test: (secret) => Buffer.byteLength(secret) >= 32,
    },
  ),
  AUTH_SCHEMES: listOf<SchemeName>('authentication schemes that are served and advertised', {
    expected: `some of ${schemeNames.join(',')}`,
    fallback: schemeNames,
    part: z.enum(schemeNames),
  }),
  SIGNATURE_TTL: integer('how many seconds a signed request may be early or late', {
    fallback: 300,
    min: 1,
    max: maxSignatureTtlSeconds,
  }),
  SESSION_IDLE_TTL: integer('seconds after which an unused session ends', { fallback: 1800, min: 1, max: 31_536_000 }),
  SESSION_MAX_TTL: integer('life of a session in seconds, however much used', {
    fallback: 43_200,
    min: 1,
    max: 31_536_000,
  }),
  LOGIN_FAILURES_PER_ACCOUNT: rate('failed attempts for one account from one client prefix', {
    count: 10,
    seconds: 900,
  }),
  LOGIN_FAILURES_PER_ADDRESS: rate('failed attempts from one client prefix', { count: 100, seconds: 60 }),
  LOGIN_FAILURES_PER_ACCOUNT_EVERYWHERE: rate(
    'failed attempts for one account from all client prefixes together, but for those from which it logged in ' +
      'within 30 days',
    { count: 100, seconds: 3600 },
  ),
  HASH_CONCURRENCY: integer('Argon2 hashes at once; divided among workers', {
    fallback: Math.max(1, availableParallelism() - 1),
    min: 1,
    max: 64,
  }),
  WORKERS: integer('processes of a server that runs alone, on one port', { fallback: 1, min: 1, max: 64 }),
  CORS_ORIGINS: listOf('origins whose scripts may call with credentials', {
    expected: 'comma-separated origins such as https://app.example.com',
    fallback: [],
    part: originSchema,
  }),
  METRICS_PORT: port('serve /metrics there and nowhere else'),
  TLS_CERT: text(
    'PEM file of the certificate, and the chain behind it, to serve HTTPS with; read again when it is renewed. A ' +
      'deal server that reaches the auth server by a certificate of a private authority is told of that one by ' +
      'NODE_EXTRA_CA_CERTS',
    undefined,
  ),
  TLS_KEY: text('PEM file of the private key of TLS_CERT, not encrypted', undefined),
  EXPIRED_TOKEN_STATUS: integer('the status for an expired token', {
    fallback: 400,
    min: 400,
    max: 401,
    among: [400, 401],
  }),
  TRUST_PROXY: trustProxy,
  ALLOW_INSECURE_HTTP: oneOf(
    'accept credentials over plain HTTP from anywhere; internal: from nowhere, but AUTH_URL may be plain HTTP',
    ['true', 'false', 'internal'],
    'false',
  ),
  DRAIN_SECONDS: integer('how long a server that is told to end goes on serving, while /readyz says that it drains', {
    fallback: 0,
    min: 0,
    max: 300,
  }),
  LOG_LEVEL: oneOf('how much is logged', logLevels, 'info'),
  LOG_FORMAT: oneOf('pretty on a terminal, json elsewhere, unless said', ['json', 'pretty'], undefined),
  ...tracingSettings,
  NODE_ENV: oneOf(
    'production refuses embedded defaults, generated secrets and demo data',
    ['production', 'development', 'test'],
    'development',
  ),
}

export { isLoopbackHost } from '../../platform/loopback.ts'

/**
 * The kind of process that reads the settings: both servers together on embedded defaults, or one server alone on
 * PostgreSQL and Redis.
 */
export type Mode = 'together' | 'alone'

/** The origin of a listener, with an address that a client can use. */
function listenerOrigin(protocol: 'http' | 'https', host: string, port: number): string {
  const shown = /^[0:.]+$/.test(host) ? '127.0.0.1' : host.includes(':') ? `[${host}]` : host
  return new URL(`${protocol}://${shown}:${port}`).origin
}

type CommonValues = Values<typeof commonSettings>

/** The configuration that both servers derive from the common settings. */
export function sharedConfig(values: CommonValues) {
  const { AUTH_PUBLIC_ORIGIN, DEAL_PUBLIC_ORIGIN, HOST, TLS_CERT: certificateFile, TLS_KEY: keyFile } = values
  /** The part of a worker in a number that holds for the server. */
  const share = (total: number) => shareOf(total, values.WORKERS)
  const protocol = certificateFile === undefined ? 'http' : 'https'
  const publicOrigins = {
    auth: AUTH_PUBLIC_ORIGIN ?? listenerOrigin(protocol, HOST, values.AUTH_PORT),
    deal: DEAL_PUBLIC_ORIGIN ?? listenerOrigin(protocol, HOST, values.DEAL_PORT),
  }
  return {
    production: values.NODE_ENV === 'production',
    host: HOST,
    publicOrigins,
    ports: [values.AUTH_PORT, values.DEAL_PORT],
    issuer: values.ISSUER ?? publicOrigins.auth,
    audience: values.AUDIENCE,
    redisUrl: values.REDIS_URL,
    dataDir: values.DATA_DIR,
    serviceSecrets: values.SERVICE_SECRET,
    schemes: values.AUTH_SCHEMES,
    signatureTtlSeconds: values.SIGNATURE_TTL,
    sessionIdleTtlSeconds: values.SESSION_IDLE_TTL,
    sessionMaxTtlSeconds: values.SESSION_MAX_TTL,
    loginFailures: {
      perAccount: values.LOGIN_FAILURES_PER_ACCOUNT,
      perAddress: values.LOGIN_FAILURES_PER_ADDRESS,
      perAccountEverywhere: values.LOGIN_FAILURES_PER_ACCOUNT_EVERYWHERE,
    },
    hashConcurrency: share(values.HASH_CONCURRENCY),
    /** Files of pages. Each holds a piece in memory. */
    downloads: { maxOfUser: share(4), maxInAll: share(64) },
    workers: values.WORKERS,
    /** Sessions of each kind at PostgreSQL. */
    databaseSessions: { pipelines: share(4), sessions: share(4), writes: share(4) },
    corsOrigins: values.CORS_ORIGINS,
    metricsPort: values.METRICS_PORT,
    drainSeconds: values.DRAIN_SECONDS,
    tls: certificateFile === undefined || keyFile === undefined ? undefined : { certificateFile, keyFile },
    expiredTokenStatus: values.EXPIRED_TOKEN_STATUS,
    transport: { trustProxy: values.TRUST_PROXY, allowInsecureHttp: values.ALLOW_INSECURE_HTTP === 'true' },
    log: { level: values.LOG_LEVEL, format: values.LOG_FORMAT },
    tracing: tracingConfig(values),
  }
}

/** The part of one of `workers` in a number that holds for all of them together: at least 1. */
export const shareOf = (total: number, workers: number): number => Math.max(1, Math.floor(total / workers))

/** A problem for each missing variable that the mode needs. */
export function missingSettings(
  mode: Mode,
  values: { readonly NODE_ENV: string },
  needed: Readonly<Record<string, unknown>>,
): SettingProblem[] {
  if (mode === 'together' && values.NODE_ENV !== 'production') return []
  const because = values.NODE_ENV === 'production' ? 'in production' : 'for a server that runs alone'
  return Object.entries(needed)
    .filter(([, value]) => value === undefined)
    .map(([variable]) => ({ variable, expected: `must be set ${because}` }))
}

/** A problem when several workers would have to share what is in the memory of one process. */
export function workersWithoutServices(mode: Mode, { WORKERS, REDIS_URL }: CommonValues): SettingProblem[] {
  if (WORKERS === 1) return []
  if (mode === 'together') {
    return [{ variable: 'WORKERS', expected: 'must be 1 under npm start, which runs both servers in one process' }]
  }
  return REDIS_URL === noRedis
    ? [{ variable: 'WORKERS', expected: 'must be 1 without Redis, where attempts are counted in one process' }]
    : []
}

/** A problem when only one of certificate and key is set. */
export function halfCertificate(values: CommonValues): SettingProblem[] {
  const { TLS_CERT, TLS_KEY } = values
  if ((TLS_CERT === undefined) === (TLS_KEY === undefined)) return []
  const [variable, other] = TLS_CERT === undefined ? ['TLS_CERT', 'TLS_KEY'] : ['TLS_KEY', 'TLS_CERT']
  return [{ variable, expected: `must be set when ${other} is` }]
}

/** A problem when two listeners of one process have the same port. It names the second one. */
export function sharedPort(
  [first, one]: readonly [name: string, port: number],
  [second, other]: readonly [name: string, port: number | undefined],
): SettingProblem[] {
  return one === other ? [{ variable: second, expected: `must be another port than ${first}` }] : []
}

/** A problem for each missing secret in production: generated secrets are for development only. */
export function missingSecrets(
  values: { readonly NODE_ENV: string },
  needed: Readonly<Record<string, unknown>>,
): SettingProblem[] {
  if (values.NODE_ENV !== 'production') return []
  return Object.entries(needed)
    .filter(([, value]) => value === undefined)
    .map(([variable]) => ({ variable, expected: 'must be set in production, where no secret is generated' }))
}
