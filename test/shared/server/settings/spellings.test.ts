/**
 * Every setting with the spellings of other products: each is used as it is meant, or refused by the setting's name.
 */
import { describe, expect, it } from 'vitest'
import { authSettings, operatorSettings } from '../../../../auth-server/config.ts'
import { dealSettings } from '../../../../deal-server/config.ts'
import { readSettings, type Setting } from '../../../../shared/platform/settings/settings.ts'

const all: Readonly<Record<string, Setting<unknown>>> = { ...operatorSettings, ...dealSettings, ...authSettings }

const spellings = [
  ['true', 'TRUE', 'True', 'false', 'FALSE', 'yes', 'on', 'off', 'none', 'NONE', 'null', 'undefined', 'all', '*'],
  ['0', '1', '5', ' 7\n', '007', '+5', '-1', '5.0', '1e1', '0x10', '0b11', '1_000', '1,000', '٣', '10%'],
  ['5m', '10s', '10MB', '2h', '10/60', '10/1m', '5,10', '5,0x10', '5,7,5m', '1.5', '401', '2048', 'Infinity', 'NaN'],
  ['"true"', "'5'", '`x`', '"a text"', '"https://a.example"', `$\{NAME}`, 'a\nb', 'a\u0000b', '  a text  '],
  ['https://a.example', 'https://a.example/', 'HTTPS://A.example', 'https://a.example/x?y=1', 'https://u:p@a.example'],
  ['a.example', 'a.example:4000', 'localhost', '0.0.0.0', '::1', '[::1]', '10/8', '10.0.0.0/8', '010.0.0.1', '100'],
  ['info', 'INFO', 'Debug', 'warning', 'JSON', 'pretty', 'production', 'Production', 'prod', 'staging', 'test'],
  [
    'RS256',
    'rs256',
    'hs256',
    'EUR',
    'eur',
    '€',
    'bearer',
    'Bearer',
    'basic;digest',
    'admin',
    'admin, auditor',
    'Admin',
  ],
  ['a=b', '"a=b"', 'a: b', 'always_on', 'ALWAYS_ON', 'x'.repeat(43), `"${'x'.repeat(43)}"`, 'x'.repeat(32)],
  [
    'postgres://a/b',
    '"postgres://a/b"',
    'postgres://a/b?x=1',
    'mysql://a/b',
    'redis://a',
    'redis://a?x=1',
    'REDIS://a',
  ],
].flat()

/** What a spelling means for a setting, in the form of its value; undefined where it must be refused. */
type Meaning = (text: string) => unknown

const whole =
  (min: number, max: number, ...among: number[]): Meaning =>
  (text) => {
    const number = /^[0-9]+$/.test(text) ? Number(text) : Number.NaN
    return number >= min && number <= max && (among.length === 0 || among.includes(number)) ? number : undefined
  }
const word =
  (...words: string[]): Meaning =>
  (text) =>
    words.find((each) => each.toLowerCase() === text.toLowerCase())
const flag: Meaning = (text) => ({ true: true, false: false })[text.toLowerCase()]
const line: Meaning = (text) => (/["'`]$|[\n\0]|[$]/.test(text) ? undefined : text)
const asItStands: Meaning = (text) => text
const only =
  (accepted: Readonly<Record<string, unknown>>): Meaning =>
  (text) =>
    accepted[text]
const seconds: Meaning = (text) => (/^0*[1-9]\d*(,0*[1-9]\d*)*$/.test(text) ? text.split(',').map(Number) : undefined)
const rate: Meaning = only({ '10/60': { count: 10, seconds: 60 }, '10/8': { count: 10, seconds: 8 } })
const origin = { 'https://a.example': 'https://a.example', 'https://a.example/': 'https://a.example' }
const origins = { ...origin, 'HTTPS://A.example': 'https://a.example' }
const url: Meaning = (text) => (/^https:\/\/a\.example\/?$/i.test(text) ? text : undefined)
const database: Meaning = only({ 'postgres://a/b': 'postgres://a/b' })
const pairs: Meaning = only({ 'a=b': { a: 'b' } })
const key: Meaning = only({ ['x'.repeat(43)]: ['x'.repeat(43)] })

const meanings: Readonly<Record<string, Meaning>> = {
  AUTH_PORT: whole(1, 65_535),
  DEAL_PORT: whole(1, 65_535),
  METRICS_PORT: whole(1, 65_535),
  HOST: (text) => (/^[A-Za-z0-9.:-]+$/.test(text) ? text : undefined),
  AUTH_PUBLIC_ORIGIN: only(origins),
  DEAL_PUBLIC_ORIGIN: only(origins),
  ISSUER: line,
  AUDIENCE: line,
  DATA_DIR: line,
  KEYS_DIR: line,
  FIRST_PASSWORD_FILE: line,
  TLS_CERT: line,
  TLS_KEY: line,
  OTEL_SERVICE_NAME: line,
  KEYHOLD_OPERATOR: line,
  KEYS_PASSPHRASE: asItStands,
  REDIS_URL: only({ none: 'none', 'redis://a': 'redis://a', 'REDIS://a': 'REDIS://a' }),
  SERVICE_SECRET: (text) => (text.length >= 32 ? [text] : undefined),
  SECRETS_KEY: key,
  FORMER_SECRETS_KEYS: key,
  AUTH_SCHEMES: only({ bearer: ['bearer'] }),
  SIGNATURE_TTL: whole(1, 3600),
  SESSION_IDLE_TTL: whole(1, 31_536_000),
  SESSION_MAX_TTL: whole(1, 31_536_000),
  LOGIN_FAILURES_PER_ACCOUNT: rate,
  LOGIN_FAILURES_PER_ADDRESS: rate,
  LOGIN_FAILURES_PER_ACCOUNT_EVERYWHERE: rate,
  HASH_CONCURRENCY: whole(1, 64),
  WORKERS: whole(1, 64),
  CORS_ORIGINS: (text) => only(origins)(text) && [only(origins)(text)],
  TOKEN_ORIGINS: (text) => {
    const named = text === '*' ? text : only(origins)(text)
    return named && [named]
  },
  EXPIRED_TOKEN_STATUS: whole(400, 401, 400, 401),
  TRUST_PROXY: (text) =>
    /^[0-9]{1,2}$/.test(text)
      ? { hops: Number(text) }
      : { '0.0.0.0': 1, '::1': 1, '10.0.0.0/8': 1 }[text] && { ranges: [expect.any(Array)] },
  ALLOW_INSECURE_HTTP: word('true', 'false', 'internal'),
  DRAIN_SECONDS: whole(0, 300),
  LOG_LEVEL: word('fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'),
  LOG_FORMAT: word('json', 'pretty'),
  NODE_ENV: word('production', 'development', 'test'),
  OTEL_EXPORTER_OTLP_ENDPOINT: url,
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: url,
  OTEL_EXPORTER_OTLP_HEADERS: pairs,
  OTEL_RESOURCE_ATTRIBUTES: (text) =>
    pairs(text) ?? (/^[a-z:/.?]+=1$/.test(text) ? { [text.slice(0, -2)]: '1' } : undefined),
  OTEL_TRACES_SAMPLER: word('always_on', 'always_off', 'traceidratio'),
  OTEL_TRACES_SAMPLER_ARG: only({ '0': 0, '1': 1 }),
  OTEL_SDK_DISABLED: flag,
  AUTH_DATABASE_URL: database,
  DEAL_DATABASE_URL: database,
  AUTH_URL: url,
  ACCESS_TOKEN_TTL: whole(1, 86_400),
  REFRESH_TOKEN_TTL: whole(1, 31_536_000),
  LOGIN_MAX_TTL: whole(1, 315_360_000),
  REFRESH_RETRY_WINDOW: whole(1, 3600),
  MAX_LOGINS_PER_USER: whole(1, 10_000),
  SECOND_FACTOR_ROLES: (text) => {
    if (text === 'none') return []
    const isSwitch = /^(\d+|\d+,.*|true|false|yes|on|off|all|null|undefined)$/.test(text)
    return !isSwitch && /^[a-z0-9][a-z0-9._-]*(, [a-z]+)?$/.test(text) ? text.split(', ') : undefined
  },
  KEY_SIGNED_TOKEN_TTL: whole(1, 86_400),
  JWT_ALG: word('RS256', 'ES256', 'EdDSA'),
  KEY_BITS: whole(2048, 4096, 2048, 3072, 4096),
  RSA_PAIRS_PER_MINUTE: whole(1, 1000),
  KEY_MAX_AGE_DAYS: whole(1, 3650),
  RECORD_MAX_AGE: whole(0, 86_400),
  EVENT_STREAMS_PER_USER: whole(1, 100_000),
  EVENT_STREAMS: whole(1, 100_000),
  PURGED_EVENTS_DAYS: whole(31, 36_500),
  WEBHOOK_TIMEOUT: whole(1, 60),
  WEBHOOK_RETRY_SECONDS: seconds,
  WEBHOOK_ALLOWED_NETWORKS: (text) =>
    ({ '0.0.0.0': 1, '::1': 1, '10.0.0.0/8': 1 })[text] && [expect.objectContaining({ text })],
  REQUIRE_PRECONDITION: flag,
  DEFAULT_CURRENCY: only({ EUR: 'EUR' }),
}

describe('a setting', () => {
  it('is in the table below', () => expect(Object.keys(meanings).sort()).toEqual(Object.keys(all).sort()))

  it.each(Object.entries(meanings))('%s is read as it is meant, or refused by its name', (name, meaning) => {
    const read = (text: string) => {
      const { values, problems } = readSettings(all, { [name]: text })
      return problems.length === 0 ? values[name] : problems.map(({ variable }) => variable)
    }
    for (const text of spellings) {
      const meant = meaning(text.trim())
      expect([text, read(text)]).toEqual([text, meant === undefined ? [name] : meant])
    }
    for (const empty of ['', ' ', '\n']) expect(read(empty)).toEqual(all[name]?.fallback)
  })

  it('never shows what was written', () => {
    for (const name of Object.keys(all)) {
      const { problems } = readSettings(all, { [name]: 'postgres://u:s3cret%@a,redis://s3cret\n"' })
      expect(JSON.stringify(problems)).not.toContain('s3cret')
    }
  })
})
