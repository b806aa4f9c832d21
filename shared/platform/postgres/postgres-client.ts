/** How a postgres.js client of one connection is made. */
import type { Socket } from 'node:net'
import postgres from 'postgres'
import { isLoopbackHost } from '../loopback.ts'
import { type ServerAddress, type SslMode, sslModeOf } from './postgres-socket.ts'

/** A postgres.js client of one connection. */
export type PostgresClient = postgres.Sql

export interface PostgresClientOptions {
  /** How long a caller waits at most; the server's own limits are derived from it. Milliseconds. */
  readonly answerTimeoutMs: number
  /** Gives the connected socket; asked again whenever postgres.js wants to reconnect. */
  readonly openSocket: () => Promise<Socket>
  /** Called when an established connection has ended. */
  readonly onClose: () => void
}

/** postgres.js takes a function that opens the socket; its types leave that out. */
type Options = postgres.Options<Record<string, postgres.PostgresType>> & { socket: () => Promise<Socket> }

/**
 * A client that has not connected yet. Its statements end at four fifths of the time a caller waits, so that a slow statement
 * is told from a silent server. `fetch_types` stays off: postgres.js leaves a rejection unhandled when a connection ends meanwhile.
 */
export const createClient = (url: string, options: PostgresClientOptions): PostgresClient => {
  const settings: Options = {
    max: 1,
    socket: options.openSocket,
    ssl: false,
    onclose: options.onClose,
    onnotice: () => {},
    fetch_types: false,
    connect_timeout: 0,
    idle_timeout: 0,
    max_lifetime: null,
    backoff: () => 0,
    connection: {
      application_name: 'keyhold',
      TimeZone: 'UTC',
      statement_timeout: Math.round(options.answerTimeoutMs * 0.8),
      idle_in_transaction_session_timeout: options.answerTimeoutMs * 2,
    },
  }
  return postgres(url, settings)
}

/**
 * Refuses what cannot be the address of one PostgreSQL server, without repeating it: it may hold a password.
 *
 * @throws TypeError
 */
export const checkUrl = (url: string): void => {
  if (!URL.canParse(url)) throw new TypeError('the database URL is not a valid URL of one server')
  const { protocol } = new URL(url)
  if (protocol !== 'postgres:' && protocol !== 'postgresql:') {
    throw new TypeError('the database URL must begin with postgres:// or postgresql://')
  }
  sslModeOf(url)
}

/** Whether `checkUrl` takes it. */
export const isDatabaseUrl = (url: string): boolean => {
  try {
    checkUrl(url)
    return true
  } catch {
    return false
  }
}

/** True when what goes to this database stays on this machine, or is encrypted for a host whose certificate is verified. */
export const isVerifiedDatabaseUrl = (url: string): boolean => {
  const host = decodeURIComponent(new URL(url).hostname)
  return host.startsWith('/') || isLoopbackHost(host) || sslModeOf(url) === 'verify-full'
}

/** Where the client's server is. */
export const addressOf = (client: PostgresClient, sslMode: SslMode): ServerAddress => {
  const { path } = client.options
  const [host = 'localhost'] = client.options.host
  const [port = 5432] = client.options.port
  return { host, port, path: path || undefined, sslMode }
}
