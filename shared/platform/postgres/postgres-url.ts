/** The address of a database: one PostgreSQL server, or several of which one is the primary (libpq, section 34.1.1). */
import { isLoopbackHost } from '../loopback.ts'
import { type ServerAddress, type SslMode, sslModes } from './postgres-socket.ts'
import { readParameters } from './url-parameters.ts'

/** What a server must be to be used: anything, no standby, or neither a standby nor read-only by default. */
export type TargetSession = (typeof targetSessions)[number]

const targetSessions = ['any', 'primary', 'read-write'] as const

/** The servers of a database, and how they are used. */
export interface DatabaseAddress {
  readonly servers: readonly [ServerAddress, ...ServerAddress[]]
  readonly target: TargetSession
  /** A pooler is in between: nothing may be kept in a session (`pgbouncer=true`). */
  readonly isPooled: boolean
  /** Who logs in, and to which database, as the driver calls it. */
  readonly login: Readonly<Partial<Record<'user' | 'password' | 'database', string>>>
  /** Parameters that PostgreSQL gets. */
  readonly sent: Readonly<Record<string, string>>
  /** The names of parameters without effect. */
  readonly ignored: readonly string[]
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
 * @throws TypeError that says what was expected, and does not repeat `url`: it may contain a password
 */
export function parseDatabaseUrl(url: string): DatabaseAddress {
  const [, scheme, login = '', hosts = '', rest = ''] =
    /^(postgres(?:ql)?:\/\/)((?:[^/?#]*@)?)([^/?#@]*)([/?#].*)?$/is.exec(url.trim()) ?? []
  if (scheme === undefined) throw invalid()
  if (/[@#]/.test(rest)) throw new TypeError(`${encoded}: an @ or a # comes behind the hosts`)
  const { username, password, pathname, searchParams } = urlOf(`${scheme}${login}host${rest}`)
  const parameters = readParameters(searchParams)
  const names = hosts.split(',')
  const sslMode = among(sslModes, 'sslmode', parameters.get('sslmode') ?? 'disable')
  const servers = names.map((name) => serverOf(name, sslMode, names.length === 1))
  const [one, ...others] = servers
  if (one === undefined) throw new TypeError('unreachable: a split text has a part')
  const target = parameters.get('target_session_attrs') ?? (others.length > 0 ? 'read-write' : 'primary')
  return {
    servers: [one, ...others],
    target: among(targetSessions, 'target_session_attrs', target),
    isPooled: among(['true', 'false'] as const, 'pgbouncer', parameters.get('pgbouncer') ?? 'false') === 'true',
    login: loginOf({ user: username, password, database: pathname.slice(1) }),
    sent: parameters.sent,
    ignored: parameters.ignored,
  }
}

const loginOf = (parts: Readonly<Record<string, string>>): DatabaseAddress['login'] =>
  Object.fromEntries(
    Object.entries(parts)
      .filter(([, text]) => text !== '')
      .map(([name, text]) => [name, decoded(text)]),
  )

/** True if data for this database stays on this machine, or is encrypted for hosts with a verified certificate. */
export const isVerifiedDatabaseUrl = (url: string): boolean =>
  parseDatabaseUrl(url).servers.every(
    ({ host, path, sslMode }) => path !== undefined || isLoopbackHost(host) || sslMode === 'verify-full',
  )

/** `host:port`, or the path of a socket: for messages. */
export const serverNameOf = ({ host, port, path }: ServerAddress): string =>
  path ?? `${host.includes(':') ? `[${host}]` : host}:${port}`

function serverOf(name: string, sslMode: SslMode, isOnly: boolean): ServerAddress {
  if (name.trim() === '' && !isOnly) throw new TypeError('expected a host between two commas')
  const { hostname, port } = urlOf(`postgres://${name.trim()}`)
  const host = decoded(hostname).replace(/^\[|\]$/g, '') || 'localhost'
  if (port === '0') throw invalid()
  const number = Number(port || 5432)
  return { host, port: number, path: host.startsWith('/') ? `${host}/.s.PGSQL.${number}` : undefined, sslMode }
}

function urlOf(text: string): URL {
  if (!URL.canParse(text)) throw invalid()
  return new URL(text)
}

const encoded = 'expected user, password and database percent-encoded'

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    throw new TypeError(`${encoded}: a % encodes nothing`)
  }
}

const invalid = (): TypeError => new TypeError(`expected ${databaseUrlForms}`)

function among<Word extends string>(words: readonly Word[], name: string, value: string): Word {
  const found = words.find((word) => word === value)
  if (found === undefined) throw new TypeError(`expected as ${name} one of ${words.join(', ')}`)
  return found
}
