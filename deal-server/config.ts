/** The settings of the deal server, with their defaults. Only this file of the server reads the environment. */

import * as z from 'zod'
import { noRedis } from '../shared/platform/redis/redis-url.ts'
import {
  flag,
  goneSettings,
  integer,
  listOf,
  originSchema,
  readBy,
  readSettings,
  type SettingProblem,
  text,
  url,
  wholeNumber,
} from '../shared/platform/settings/settings.ts'
import { loopbackNetworks, type Network, parseNetwork } from '../shared/platform/webhooks/reachable-address.ts'
import {
  commonSettings,
  databaseUrl,
  halfCertificate,
  isLoopbackHost,
  type Mode,
  missingSecrets,
  missingSettings,
  sharedConfig,
  sharedPort,
  shareOf,
  workersWithoutServices,
} from '../shared/server/settings/common-settings.ts'
import { currencyExponents } from './domain/currency.ts'
import { standardRetriesMs } from './webhooks/back-off.ts'

/** All settings; `docs/settings.md` is generated from them. */
export const dealSettings = {
  ...commonSettings,
  DEAL_DATABASE_URL: databaseUrl('the PostgreSQL database of the deal server'),
  AUTH_URL: url('where the deal server finds the auth server; by default its public origin'),
  RECORD_MAX_AGE: integer('seconds a principal record is used while the auth server cannot be reached', {
    fallback: 300,
    min: 0,
    max: 86_400,
  }),
  EVENT_STREAMS_PER_USER: integer(
    'live event streams that one user may have open on a deal server; divided among workers',
    { fallback: 16, min: 1, max: 100_000 },
  ),
  EVENT_STREAMS: integer('live event streams that a deal server may have open in all; divided among workers', {
    fallback: 2_000,
    min: 1,
    max: 100_000,
  }),
  WEBHOOK_TIMEOUT: integer('seconds that the receiver of a webhook has to answer', { fallback: 15, min: 1, max: 60 }),
  WEBHOOK_RETRY_SECONDS: listOf('pauses before each retry of an event that the receiver of a webhook did not take', {
    expected: 'comma-separated seconds, each longer than the one before and at most a day',
    fallback: standardRetriesMs.map((ms) => ms / 1000),
    part: wholeNumber(1, 86_400),
  }),
  WEBHOOK_ALLOWED_NETWORKS: listOf<Network>(
    'networks that webhooks may reach although they are not public, also over plain HTTP; under npm start outside ' +
      'production, this machine itself is allowed',
    { expected: 'comma-separated addresses or CIDRs such as 10.1.2.0/24', fallback: [], part: readBy(parseNetwork) },
  ),
  PURGED_EVENTS_DAYS: integer(
    'days after its deletion in which a purged deal keeps its events; then all but the last are deleted',
    { fallback: 365, min: 31, max: 36_500 },
  ),
  TOKEN_ORIGINS: listOf('origins whose scripts may call with a token, and never with a cookie; * for every origin', {
    expected: 'comma-separated origins such as https://app.example.com, or *',
    fallback: [],
    part: z.union([z.literal('*'), originSchema]),
  }),
  REQUIRE_PRECONDITION: flag('refuse a whole-deal PUT without If-Match or version (428)', false),
  DEFAULT_CURRENCY: text('the currency of deals created without one', 'EUR', {
    expected: 'an ISO 4217 code',
    test: (code) => currencyExponents.has(code),
  }),
}

/** Settings that are gone, and what to do instead. */
const formerSettings = {
  DEAL_READ_URL: 'must be unset: all reads go to the database of DEAL_DATABASE_URL',
}

/** The settings of one deal server process, with all defaults applied. */
export type DealConfig = ReturnType<typeof readDealConfig>['config']

/** Reads the configuration, and lists all its problems. */
export function readDealConfig(mode: Mode, environment: Readonly<Record<string, string | undefined>> = process.env) {
  const { values, problems } = readSettings(dealSettings, environment)
  const { DEAL_DATABASE_URL, REDIS_URL, SERVICE_SECRET } = values
  const shared = sharedConfig(values)
  const share = (total: number) => shareOf(total, values.WORKERS)
  const authUrl = (values.AUTH_URL ?? shared.publicOrigins.auth).replace(/\/+$/, '')
  const all: SettingProblem[] = [
    ...problems,
    ...goneSettings(formerSettings, environment),
    ...missingSettings(mode, values, { DEAL_DATABASE_URL, REDIS_URL }),
    ...halfCertificate(values),
    ...sharedPort(['DEAL_PORT', values.DEAL_PORT], ['METRICS_PORT', values.METRICS_PORT]),
    ...workersWithoutServices(mode, values),
    ...missingSecrets(values, { SERVICE_SECRET }),
  ]
  const { WEBHOOK_RETRY_SECONDS: pauses } = values
  if (pauses.some((seconds, index) => index > 0 && seconds <= (pauses[index - 1] ?? 0))) {
    all.push({ variable: 'WEBHOOK_RETRY_SECONDS', expected: 'each pause must be longer than the one before' })
  }
  const insecure = authUrl.startsWith('http:') && !isLoopbackHost(new URL(authUrl).hostname)
  if (insecure && values.ALLOW_INSECURE_HTTP === 'false') {
    all.push({
      variable: 'AUTH_URL',
      expected: 'must be https unless on loopback, or ALLOW_INSECURE_HTTP says otherwise',
    })
  }
  const config = {
    ...shared,
    port: values.DEAL_PORT,
    publicOrigin: shared.publicOrigins.deal,
    authUrl,
    databaseUrl: DEAL_DATABASE_URL,
    // Without Redis, only an auth server of the same process announces changes.
    hasFeed: mode === 'together' || REDIS_URL !== noRedis,
    recordMaxAgeMs: values.RECORD_MAX_AGE * 1000,
    eventStreams: { maxOfUser: share(values.EVENT_STREAMS_PER_USER), maxInAll: share(values.EVENT_STREAMS) },
    /** Between two wake-ups of a process: its workers together send as many as one process. */
    wakeUpPauseMs: 5 * values.WORKERS,
    tokenOrigins: new Set(values.TOKEN_ORIGINS),
    /** Each holds its body in memory. */
    batches: { maxOfUser: share(8), maxInAll: share(64) },
    webhooks: {
      timeoutMs: values.WEBHOOK_TIMEOUT * 1000,
      retriesMs: values.WEBHOOK_RETRY_SECONDS.map((seconds) => seconds * 1000),
      allowedNetworks: [
        ...values.WEBHOOK_ALLOWED_NETWORKS,
        ...(mode === 'together' && !shared.production ? loopbackNetworks : []),
      ],
    },
    purgedEventsDays: values.PURGED_EVENTS_DAYS,
    requirePrecondition: values.REQUIRE_PRECONDITION,
    defaultCurrency: values.DEFAULT_CURRENCY,
  }
  return { config, problems: all }
}
