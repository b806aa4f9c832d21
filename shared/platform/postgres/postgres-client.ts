/** Creates postgres.js clients of one connection. */
import type { Socket } from 'node:net'
import postgres from 'postgres'
import type { DatabaseAddress } from './postgres-url.ts'
import { sessionSettings } from './session-settings.ts'

/** A postgres.js client of one connection. */
export type PostgresClient = postgres.Sql

interface PostgresClientOptions {
  /** The longest wait of a caller, in milliseconds. The limits of the PostgreSQL server are derived from it. */
  readonly responseTimeoutMs: number
  /** Opens the socket. postgres.js calls it again when it wants to reconnect. */
  readonly openSocket: () => Promise<Socket>
  /** Called when an established connection has ended. */
  readonly onClose: () => void
  /** Called with each setting that the server reports, at the start of a connection and when it changes. */
  readonly onReport?: (setting: string, value: string) => void
  /**
   * Called before the answer to a commit whose wait for a standby was cancelled or ended: PostgreSQL reports success,
   * but only itself has the commit.
   */
  readonly onLocalCommit?: () => void
}

/**
 * Two options of postgres.js are missing in its types: `socket` opens the socket; `max_pipeline` is the number of
 * statements that are sent before the answer to the first of them.
 */
type Options = postgres.Options<Record<string, postgres.PostgresType>> & {
  readonly socket: () => Promise<Socket>
  readonly max_pipeline?: number
}

/**
 * Creates a client that connects later. `fetch_types` stays off: if a connection ends before that is done, postgres.js
 * leaves a rejection unhandled.
 */
export function createClient(
  { login, sent, isPooled, target }: DatabaseAddress,
  { responseTimeoutMs, onReport = () => {}, ...options }: PostgresClientOptions,
): PostgresClient {
  const settings: Options = {
    // Where to connect is not its part.
    host: 'localhost',
    ...login,
    max: 1,
    socket: options.openSocket,
    ssl: false,
    onclose: options.onClose,
    // The routine, because the text of the warning is in the language of the server.
    onnotice: ({ routine }) => routine === 'SyncRepWaitForLSN' && options.onLocalCommit?.(),
    onparameter: onReport,
    fetch_types: false,
    // Behind a pooler, the next transaction may run in another session, which lacks the named statements of this one.
    prepare: !isPooled,
    // PgBouncer takes its connection back after the answer to a statement, although the next one is half sent.
    ...(isPooled && { max_pipeline: 0 }),
    connect_timeout: 0,
    idle_timeout: 0,
    max_lifetime: null,
    backoff: () => 0,
    connection: {
      application_name: 'keyhold',
      ...sent,
      ...sessionSettings({ isPooled, seesReadOnly: target === 'read-write', responseTimeoutMs }),
    },
  }
  return postgres(settings)
}
