/**
 * The client of `keyhold login --device`. It is built in, and has no row in auth.clients: so nobody can change or
 * delete it, it takes no name from others, and each database has it, without a migration. In `client_id` of
 * auth.login_families, of type uuid, a constant stands for it.
 */
import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { commandLineClientId } from '../../shared/protocol/access-token/access-token.ts'

const rowId = '6b657968-6f6c-8d64-8c69-000000000001'

/** Its name, as users see it. */
export const commandLineName = 'Keyhold command line'

/** The value of such a column for this client. */
export const rowIdOf = (clientId: string): string => (clientId === commandLineClientId ? rowId : clientId)

/** SQL for the client of such a column, by its id on the wire. */
export const clientIdSql = (column: SQLWrapper): SQL =>
  sql`case when ${isBuiltInSql(column)} then ${sql.raw(`'${commandLineClientId}'`)} else ${column}::text end`

/** SQL that is true for the client that needs no row. */
export const isBuiltInSql = (column: SQLWrapper): SQL => sql`coalesce(${column} = ${sql.raw(`'${rowId}'`)}, false)`
