/** SQL conditions on logins: whether their users, principals and resource servers accept them. */
import { type SQL, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/pg-core'
import { clockToleranceSeconds } from '../../shared/protocol/clock-tolerance.ts'
import { resourceServers } from '../store/access-tables.ts'
import { f, l, p, r, type s, u } from '../store/aliases.ts'
import { isBuiltInSql } from '../store/built-in-clients.ts'
import { clients } from '../store/client-tables.ts'
import { sessions } from '../store/schema.ts'
import { demandSql } from './demand-sql.ts'
import { ownResourceServer } from './rights.ts'

/** User `u` is enabled, and principal `p` accepts the generation of this family or session. */
export const acceptedSqlOf = (login: typeof f | typeof s): SQL => sql`${u.enabled} and ${p.userId} = ${login.userId}
  and (${login.generation} = ${p.generation}
    or coalesce(${p.keptLoginId} = ${login.id}::text and ${p.keptLoginGeneration} = ${login.generation}, false))`

/** Later than the login, so that a server whose clock is late and a time in whole seconds do no harm. */
const tolerance = sql.raw(`interval '${clockToleranceSeconds + 1} seconds'`)

/**
 * A resource server has the audience of this family or session, and had it when the login began: one that has the
 * audience of a former one, or the pair when AUDIENCE is changed, does not revive former logins. The audience of the
 * pair itself is always there.
 */
export const hasAudienceSqlOf = (login: typeof f | typeof s): SQL => sql`(${login.audience} is null or exists (
  select 1 from ${resourceServers} ${r}
  where ${r.audience} = ${login.audience} and ${r.id} <> ${sql.raw(`'${ownResourceServer}'`)}
    and ${r.createdAt} <= ${login.createdAt} + ${tolerance}))`

const h = alias(sessions, 'h')

/** The login of family `f` hangs on a session: it ends when that one does. */
export const hangsSql: SQL = sql`${f.sessionId} is not null and not ('offline_access' = any(${f.scopes}))`

/** Client `l` may have tokens for the audience of family `f`. */
const isForSql: SQL = sql`case when ${f.audience} is null then ${sql.raw(`'${ownResourceServer}'`)} = any(${l.resourceServers})
  else exists (select 1 from ${resourceServers} ${r} where ${r.audience} = ${f.audience}
    and ${r.id} = any(${l.resourceServers})) end`

/**
 * The client of family `f` exists with its audience, if it is of one with a row, and so does the session that it hangs
 * on.
 */
export const hasClientSql: SQL = sql`(${f.clientId} is null or ((${isBuiltInSql(f.clientId)}
  or exists (select 1 from ${clients} ${l} where ${l.id} = ${f.clientId} and ${isForSql})) and (not (${hangsSql})
    or exists (select 1 from ${sessions} ${h} where ${h.id} = ${f.sessionId} and ${h.endedAt} is null))))`

/**
 * Both of family `f`, its user, its principal, its resource server and its client, and a second factor if there is a
 * demand for one.
 */
export const acceptedFamilySql: SQL = sql`${acceptedSqlOf(f)} and ${hasAudienceSqlOf(f)} and ${hasClientSql}
  and (${f.secondFactor} is not null or not ${demandSql})`
