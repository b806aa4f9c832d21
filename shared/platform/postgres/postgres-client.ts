/** Creates postgres.js clients of one connection. */
import type { Socket } from 'node:net'
import postgres from 'postgres'
import { isLoopbackHost } from '../loopback.ts'
import { type ServerAddress, type SslMode, sslModeOf } from './postgres-socket.ts'

/** A postgres.js client of one connection. */
export type PostgresClient = postgres.Sql

/** The limits and the socket of a client. */
export interface PostgresClientOptions {
  /** The longest wait of a caller, in milliseconds. The limits of the PostgreSQL server are derived from it. */
  readonly responseTimeoutMs: number
  /** Opens the socket. postgres.js calls it again when it wants to reconnect. */
  readonly openSocket: () => Promise<Socket>
  /** Called when an established connection has ended. */
  readonly onClose: () => void
}

/** The option `socket` of postgres.js, a function that opens the socket, is missing in its types. */
type Options = postgres.Options<Record<string, postgres.PostgresType>> & { socket: () => Promise<Socket> }

/**
 * Creates a client that connects later. PostgreSQL ends its statements after four fifths of the longest wait of a
 * caller, so that a slow statement differs from a silent server. `fetch_types` stays off: if a connection ends
 * meanwhile, postgres.js leaves a rejection unhandled.
 */
export function createClient(url: string, options: PostgresClientOptions): PostgresClient {
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
      statement_timeout: Math.round(options.responseTimeoutMs * 0.8),
      idle_in_transaction_session_timeout: options.responseTimeoutMs * 2,
    },
  }
  return postgres(url, settings)
}

/**
 * Checks that `url` is the address of one PostgreSQL server.
 *
 * @throws TypeError that does not repeat `url`: it may contain a password
 */
export function checkUrl(url: string): void {
  if (!URL.canParse(url)) throw new TypeError('the database URL is not a valid URL of one server')
  const { protocol } = new URL(url)
  if (protocol !== 'postgres:' && protocol !== 'postgresql:') {
    throw new TypeError('the database URL must begin with postgres:// or postgresql://')
  }
  sslModeOf(url)
}

/** True if `checkUrl` accepts it. */
export function isDatabaseUrl(url: string): boolean {
  try {
    checkUrl(url)
    return true
  } catch {
    return false
  }
}

/** True if data for this database stays on this machine, or is encrypted for a host with a verified certificate. */
export function isVerifiedDatabaseUrl(url: string): boolean {
  const host = decodeURIComponent(new URL(url).hostname)
  return host.startsWith('/') || isLoopbackHost(host) || sslModeOf(url) === 'verify-full'
}

/** The address of the client's server. */
export function addressOf(client: PostgresClient, sslMode: SslMode): ServerAddress {
  const { path } = client.options
  const [host = 'localhost'] = client.options.host
  const [port = 5432] = client.options.port
  return { host, port, path: path || undefined, sslMode }
}
