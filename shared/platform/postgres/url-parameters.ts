/**
 * The parameters of a database URL: those of libpq (section 34.1.2), of the usual hosts and of other drivers. Each is
 * used, has no effect, or is refused by its name.
 */
import { isOfEverySession } from './session-settings.ts'

interface UrlParameters {
  /** The value of a parameter that is used. */
  get(name: (typeof used)[number]): string | undefined
  /** Those that PostgreSQL gets. */
  readonly sent: Readonly<Record<string, string>>
  /** The names of those without effect. */
  readonly ignored: readonly string[]
}

const used = ['sslmode', 'target_session_attrs', 'pgbouncer'] as const

/** A database that spreads rows over servers wants `plan_cache_mode=auto`. */
const sent = ['application_name', 'options', 'plan_cache_mode']

/** Limits of pools and times, which the servers have of their own, and what other drivers must be told. */
const withoutEffect = new Set(
  `connect_timeout connection_limit connection_timeout fallback_application_name keep_alive keepalives
  keepalives_count keepalives_idle keepalives_interval krbsrvname load_balance_hosts login_timeout max_conns
  max_connections min_connections pool pool_max_conns pool_min_conns pool_mode pool_size pool_timeout prepare
  prepare_threshold prepared_statement_cache_size prepared_statements query_timeout schema socket_timeout
  statement_cache_capacity statement_cache_mode statement_cache_size supa tcp_keep_alive tcp_user_timeout
  uselibpqcompat workaround`.split(/\s+/),
)

/** Values that ask for nothing but what happens anyway. */
const asItIs: Readonly<Record<string, RegExp>> = {
  channel_binding: /^(disable|prefer)$/,
  client_encoding: /^(auto|utf-?8|unicode)$/i,
  gssencmode: /^(disable|prefer)$/,
  replication: /^(false|off|no|0)$/,
  sslcompression: /^0$/,
  sslnegotiation: /^postgres$/,
  sslsni: /^1$/,
}

/** What `verify-full` does anyway. */
const asVerified: Readonly<Record<string, RegExp>> = { channel_binding: /^require$/, sslrootcert: /^system$/ }

const advice = (name: string): string => {
  if (/^host/.test(name)) return 'write each host before its path, the folder of a socket with %2F for each slash'
  if (/^(port|user|password|dbname|passfile|service|servicefile)$/.test(name)) {
    return 'write login, ports and database before the parameters'
  }
  if (name === 'channel_binding') return 'write sslmode=verify-full, which verifies the host by its certificate'
  if (name === 'sslrootcert') return 'write sslmode=verify-full, and name a private authority in NODE_EXTRA_CA_CERTS'
  return /ssl/i.test(name) ? 'say of TLS nothing but sslmode' : 'leave it out'
}

/** Reads them. @throws TypeError that names a parameter, and never a value */
export function readParameters(parameters: URLSearchParams): UrlParameters {
  const values = new Map(parameters)
  if (values.size < parameters.size) {
    const names = [...parameters.keys()]
    const twice = names.find((name, index) => names.indexOf(name) < index)
    throw new TypeError(`expected ${twice} once`)
  }
  const isVerified = values.get('sslmode') === 'verify-full'
  const isIgnored = ([name, value]: readonly [string, string]) =>
    withoutEffect.has(name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)) ||
    isOfEverySession(name) ||
    asItIs[name]?.test(value) === true ||
    (isVerified && asVerified[name]?.test(value) === true)
  const others = [...values].filter(([name]) => !sent.includes(name) && !used.some((known) => known === name))
  const unknown = others.find((parameter) => !isIgnored(parameter))
  if (unknown !== undefined) {
    const [name] = unknown
    // Below a mistake, it may be a part of a password.
    const shown = /^[A-Za-z_.]{1,40}$/.test(name) ? name : 'with such a name'
    throw new TypeError(`its parameter ${shown} cannot be used: ${advice(name)}`)
  }
  return {
    get: (name) => values.get(name),
    sent: Object.fromEntries([...values].filter(([name]) => sent.includes(name))),
    ignored: others.map(([name]) => name),
  }
}
