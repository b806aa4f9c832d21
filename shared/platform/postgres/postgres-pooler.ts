/** Poolers such as PgBouncer between a server and PostgreSQL. */
import { unavailable } from '../database/driver-errors.ts'
import type { PostgresServers } from './postgres-servers.ts'
import type { PostgresSession } from './postgres-session.ts'

/** A result of postgres.js has the key for cancelling, which its types do not have. */
interface WithState {
  readonly state?: { readonly pid?: number | null }
}

/**
 * Refuses a way to the database on which statements would go wrong later: a pooler that runs each statement in another
 * session, one that the URL does not name, and one before a standby. A pooler gives its clients process ids of its own.
 *
 * @throws Unavailable with one line that says what to do
 */
export async function requireSuitable(
  session: PostgresSession,
  servers: Pick<PostgresServers, 'address' | 'refusalOfStandby'>,
): Promise<void> {
  const { isPooled } = servers.address
  const text = 'select pg_backend_pid() as pid, pg_is_in_recovery() as "isStandby"'
  const result = await session.run((client) => client.unsafe<{ pid: number; isStandby: boolean }[]>(text))
  const { state } = result as WithState
  if (!isPooled && state?.pid !== result[0]?.pid) {
    throw unavailable('a pooler answers: add pgbouncer=true to the parameters of the URL')
  }
  const refusal = result[0]?.isStandby ? servers.refusalOfStandby() : undefined
  if (refusal !== undefined) throw unavailable(`the server ${refusal}: name the primary in the URL or at the pooler`)
  try {
    await session.run((client) => client.unsafe('begin'))
    await session.run((client) => client.unsafe('commit'))
  } catch (error) {
    // PgBouncer closes the connection.
    if (isPooled && session.lost)
      throw unavailable('the pooler refuses transactions: set pool_mode = transaction there')
    throw error
  }
}
