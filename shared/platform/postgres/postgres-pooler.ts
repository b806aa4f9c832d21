/** Poolers such as PgBouncer between a server and PostgreSQL. */
import { unavailable } from '../database/driver-errors.ts'
import type { PostgresSession } from './postgres-session.ts'
import type { DatabaseAddress } from './postgres-url.ts'

/** A result of postgres.js has the key for cancelling, which its types do not have. */
interface WithState {
  readonly state?: { readonly pid?: number | null }
}

/**
 * Refuses a way to the database on which statements would go wrong later: a pooler that runs each statement in another
 * session, and one that the URL does not name. A pooler gives its clients process ids of its own.
 *
 * @throws Unavailable with one line that says what to do
 */
export async function requireSuitable(
  session: PostgresSession,
  { isPooled }: Pick<DatabaseAddress, 'isPooled'>,
): Promise<void> {
  const result = await session.run((client) => client.unsafe<{ pid: number }[]>('select pg_backend_pid() as pid'))
  const { state } = result as WithState
  if (!isPooled && state?.pid !== result[0]?.pid) {
    throw unavailable('a pooler answers: add pgbouncer=true to the parameters of the URL')
  }
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
