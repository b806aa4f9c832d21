/** The address of a database: one PostgreSQL server, or several of which one is the primary (libpq, section 34.1.1). */
import { isLoopbackHost } from '../loopback.ts'
import { type ServerAddress, type SslMode, sslModeOf, sslModes } from './postgres-socket.ts'

/** What a server must be to be used: anything, no standby, or neither a standby nor read-only by default. */
export type TargetSession = (typeof targetSessions)[number]

const targetSessions = ['any', 'primary', 'read-write'] as const

/** The servers of a database, and how they are used. */
export interface DatabaseAddress {
  readonly servers: readonly [ServerAddress, ...ServerAddress[]]
  readonly target: TargetSession
  /** A pooler stands between: nothing may be kept in a session (`pgbouncer=true`). */
  readonly isPooled: boolean
  /** For the driver: login, database and parameters. Its host means nothing. */
  readonly driverUrl: string
}

/** The forms of a URL, for settings and errors. */
export const databaseUrlForms =
  'a URL beginning with postgres:// or postgresql://, several hosts with commas between, ' +
  `target_session_attrs, if any, one of ${targetSessions.join(', ')}, pgbouncer, if any, true or false, ` +
  `its sslmode, if any, one of ${sslModes.join(', ')}`

/**
 * Reads `postgres://[user[:password]@]host[:port][,host[:port]…][/database][?parameters]`. A host may be an IPv6
 * address in brackets, or the folder of a socket with `%2F` for each slash. Each host has its own port, 5432 when left
 * out.
 *
 * @throws TypeError that does not repeat `url`: it may contain a password
 */
export function parseDatabaseUrl(url: string): DatabaseAddress {
  const [, scheme, login = '', hosts = '', rest = ''] =
    /^(postgres(?:ql)?:\/\/)((?:[^/?#]*@)?)([^/?#@]*)([/?#].*)?$/is.exec(url.trim()) ?? []
  if (scheme === undefined) throw new TypeError('the database URL must begin with postgres:// or postgresql://')
  const names = hosts.split(',')
  const [first = ''] = names
  const own = urlOf(`${scheme}${login}${first}${rest}`)
  const [target, pooled] = ['target_session_attrs', 'pgbouncer'].map((name) => parameterOf(own, name))
  for (const name of ['host', 'hostaddr', 'port']) {
    if (own.searchParams.has(name)) throw new TypeError(`the database URL must have each ${name} before its path`)
  }
  const sslMode = sslModeOf(own.href)
  const servers = names.map((name) => serverOf(name, sslMode, names.length === 1))
  const [one, ...others] = servers
  if (one === undefined) throw new TypeError('unreachable: a split text has a part')
  return {
    servers: [one, ...others],
    target: among(targetSessions, 'target_session_attrs', target ?? (others.length > 0 ? 'read-write' : 'primary')),
    isPooled: among(['true', 'false'] as const, 'pgbouncer', pooled ?? 'false') === 'true',
    driverUrl: withoutOurs(own),
  }
}

/** The forms of a URL of replicas. */
export const replicaUrlForms =
  'a URL beginning with postgres:// or postgresql:// whose hosts are standbys, several with commas between, without ' +
  `pgbouncer and target_session_attrs, its sslmode, if any, one of ${sslModes.join(', ')}`

/**
 * Reads the URL of replicas: each host is one, and any state will do. A pooler is refused, which may send statements of
 * one session to different servers. @throws TypeError that does not repeat `url`
 */
export function parseReplicaUrl(url: string): DatabaseAddress {
  const address = parseDatabaseUrl(url)
  if (address.isPooled || /[?&]target_session_attrs=/i.test(url)) {
    throw new TypeError(`the URL of replicas must be ${replicaUrlForms}`)
  }
  return { ...address, target: 'any' }
}

/** True if `parseDatabaseUrl` accepts it. */
export const isDatabaseUrl = (url: string): boolean => accepts(parseDatabaseUrl, url)

/** True if `parseReplicaUrl` accepts it. */
export const isReplicaUrl = (url: string): boolean => accepts(parseReplicaUrl, url)

function accepts(parse: (url: string) => unknown, url: string): boolean {
  try {
    parse(url)
    return true
  } catch {
    return false
  }
}

/** True if data for this database stays on this machine, or is encrypted for hosts with a verified certificate. */
export const isVerifiedDatabaseUrl = (url: string): boolean =>
  parseDatabaseUrl(url).servers.every(
    ({ host, path, sslMode }) => path !== undefined || isLoopbackHost(host) || sslMode === 'verify-full',
  )

/** `host:port`, or the path of a socket: for messages. */
export const nameOf = ({ host, port, path }: ServerAddress): string =>
  path ?? `${host.includes(':') ? `[${host}]` : host}:${port}`

function serverOf(name: string, sslMode: SslMode, isOnly: boolean): ServerAddress {
  if (name.trim() === '' && !isOnly) throw new TypeError('the database URL has an empty host between its commas')
  const { hostname, port } = urlOf(`postgres://${name.trim()}`)
  const host = decodeURIComponent(hostname).replace(/^\[|\]$/g, '') || 'localhost'
  if (port === '0') throw invalid()
  const number = Number(port || 5432)
  return { host, port: number, path: host.startsWith('/') ? `${host}/.s.PGSQL.${number}` : undefined, sslMode }
}

function urlOf(text: string): URL {
  try {
    const url = new URL(text)
    decodeURIComponent(url.hostname + url.username + url.password + url.pathname)
    return url
  } catch {
    throw invalid()
  }
}

const invalid = (): TypeError => new TypeError('the database URL is not a valid URL, or a host or port in it is not')

function parameterOf({ searchParams }: URL, name: string): string | undefined {
  const [value, ...others] = searchParams.getAll(name)
  if (others.length > 0) throw new TypeError(`the database URL has ${name} more than once`)
  return value
}

function among<Word extends string>(words: readonly Word[], name: string, value: string): Word {
  const found = words.find((word) => word === value)
  if (found === undefined) throw new TypeError(`the database URL may have as ${name} one of ${words.join(', ')}`)
  return found
}

/** The driver would send our parameters to PostgreSQL. It misreads IPv6 addresses; where to connect is not its part. */
function withoutOurs(url: URL): string {
  const own = new URL(url)
  own.hostname = 'localhost'
  own.port = ''
  for (const name of ['target_session_attrs', 'pgbouncer']) own.searchParams.delete(name)
  return own.href
}
