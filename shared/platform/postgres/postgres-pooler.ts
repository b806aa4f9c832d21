/** Ways to a database on which statements would go wrong: poolers, standbys, encodings, settings. */
import { unavailable } from '../database/driver-errors.ts'
import type { PostgresServers } from './postgres-servers.ts'
import type { PostgresSession } from './postgres-session.ts'
import { decisiveNames, wrongSettings } from './session-settings.ts'

/** A result of postgres.js has the key for cancelling, which its types do not have. */
interface WithState {
  readonly state?: { readonly pid?: number | null }
}

interface Way {
  readonly pid: number
  readonly isStandby: boolean
  readonly encoding: string
  readonly settings: Readonly<Record<string, string>>
}

const waySql = `select pg_backend_pid() as pid, pg_is_in_recovery() as "isStandby", getdatabaseencoding() as encoding,
  (select json_object_agg(name, setting) from pg_settings where name in (${decisiveNames})) as settings`

/**
 * Refuses a way to the database on which statements would go wrong later: a pooler that runs each statement in another
 * session, one that the URL does not name, and one before a standby; a database that cannot keep every name; a setting
 * that the session did not set. A pooler gives its clients process ids of its own.
 *
 * @throws Unavailable with one line that says what to do
 */
export async function requireSuitable(session: PostgresSession, servers: PostgresServers): Promise<void> {
  const { isPooled } = servers.address
  const result = await session.run((client) => client.unsafe<Way[]>(waySql))
  const { state } = result as WithState
  const [way] = result
  if (way === undefined) throw unavailable('no answer')
  if (!isPooled && state?.pid !== way.pid) {
    throw unavailable('a pooler answers: add pgbouncer=true to the parameters of the URL')
  }
  const refusal = way.isStandby ? servers.refusalOfStandby() : undefined
  if (refusal !== undefined) throw unavailable(`the server ${refusal}: name the primary in the URL or at the pooler`)
  if (way.encoding !== 'UTF8') {
    throw unavailable(
      `the encoding of the database is ${way.encoding}, which cannot keep every name: make one with ` +
        "CREATE DATABASE name ENCODING 'UTF8' TEMPLATE template0, and restore a dump of this one there",
    )
  }
  const [wrong] = wrongSettings(way.settings)
  if (wrong !== undefined) {
    throw unavailable(`the role, the database or PostgreSQL itself sets ${wrong}: run ALTER ROLE … RESET for it`)
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
