/**
 * The clients that are built in: of `keyhold login --device`, and of the documentation pages. They have no row in
 * auth.clients: so nobody can change or delete them, they take no name from others, and each database has them, without
 * a migration. In `client_id` of auth.login_families, of type uuid, a constant stands for each.
 */
import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { commandLineClientId, docsClientId } from '../../shared/protocol/access-token/access-token.ts'

/** Their ids on the wire, their names as users see them, and the values of such a column. */
const builtIn = [
  { id: commandLineClientId, name: 'Keyhold command line', row: '6b657968-6f6c-8d64-8c69-000000000001' },
  { id: docsClientId, name: 'Keyhold documentation', row: '6b657968-6f6c-8d64-8c69-000000000002' },
] as const

/** The name of a client that is built in. */
export const builtInName = (clientId: string): string => builtIn.find(({ id }) => id === clientId)?.name ?? clientId

/** The value of such a column for this client. */
export const rowIdOf = (clientId: string): string => builtIn.find(({ id }) => id === clientId)?.row ?? clientId

const choicesSql = (member: 'id' | 'name'): SQL =>
  sql.raw(builtIn.map((client) => `when '${client.row}' then '${client[member]}'`).join(' '))

/** SQL for the client of such a column, by its id on the wire. */
export const clientIdSql = (column: SQLWrapper): SQL =>
  sql`case ${column}::text ${choicesSql('id')} else ${column}::text end`

/** SQL for the name of a client that is built in; null for another one. */
export const builtInNameSql = (column: SQLWrapper): SQL => sql`case ${column}::text ${choicesSql('name')} end`

/** SQL that is true for a client that needs no row. */
export const isBuiltInSql = (column: SQLWrapper): SQL =>
  sql`coalesce(${column} in (${sql.raw(builtIn.map(({ row }) => `'${row}'`).join(', '))}), false)`
