/** The settings of the deal server, with their defaults. Only this file of the server reads the environment. */

import { noRedis } from '../shared/platform/redis/redis-url.ts'
import { flag, integer, readSettings, type SettingProblem, text, url } from '../shared/platform/settings/settings.ts'
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
} from '../shared/protocol/settings/common-settings.ts'
import { currencyExponents } from './domain/currency.ts'

/** All settings; `docs/settings.md` is generated from them. */
export const dealSettings = {
  ...commonSettings,
  DEAL_DATABASE_URL: databaseUrl('the PostgreSQL database of the deal server'),
  AUTH_URL: url('where the deal server finds the auth server; by default its public origin', ['http:', 'https:']),
  RECORD_MAX_AGE: integer('seconds a principal record is used while the auth server cannot be reached', {
    fallback: 300,
    min: 0,
    max: 86_400,
  }),
  EVENT_STREAMS_PER_USER: integer('live event streams that one user may have open on a deal server', {
    fallback: 16,
    min: 1,
    max: 100_000,
  }),
  EVENT_STREAMS: integer('live event streams that a deal server may have open in all', {
    fallback: 2_000,
    min: 1,
    max: 100_000,
  }),
  REQUIRE_PRECONDITION: flag('refuse a whole-deal PUT without If-Match or version (428)', false),
  DEFAULT_CURRENCY: text('the currency of deals created without one', 'EUR', {
    expected: 'an ISO 4217 code',
    test: (code) => currencyExponents.has(code),
  }),
}

/** The settings of one deal server process, with all defaults applied. */
export type DealConfig = ReturnType<typeof readDealConfig>['config']

/** Reads the configuration, and lists all its problems. */
export function readDealConfig(mode: Mode, environment: Readonly<Record<string, string | undefined>> = process.env) {
  const { values, problems } = readSettings(dealSettings, environment)
  const { DEAL_DATABASE_URL, REDIS_URL, SERVICE_SECRET } = values
  const shared = sharedConfig(values)
  const authUrl = (values.AUTH_URL ?? shared.publicOrigins.auth).replace(/\/+$/, '')
  const all: SettingProblem[] = [
    ...problems,
    ...missingSettings(mode, values, { DEAL_DATABASE_URL, REDIS_URL }),
    ...halfCertificate(values),
    ...sharedPort(['DEAL_PORT', values.DEAL_PORT], ['METRICS_PORT', values.METRICS_PORT]),
    ...missingSecrets(values, { SERVICE_SECRET }),
  ]
  const insecure = authUrl.startsWith('http:') && !isLoopbackHost(new URL(authUrl).hostname)
  if (insecure && !values.ALLOW_INSECURE_HTTP) {
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
    eventStreams: { maxOfPrincipal: values.EVENT_STREAMS_PER_USER, maxInAll: values.EVENT_STREAMS },
    requirePrecondition: values.REQUIRE_PRECONDITION,
    defaultCurrency: values.DEFAULT_CURRENCY,
  }
  return { config, problems: all }
}
