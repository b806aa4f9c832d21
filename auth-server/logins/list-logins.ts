/** Lists the logins of a user, by token and by cookie, as users and administrators see them. */
import { type SQL, sql } from 'drizzle-orm'
import { validate as isUuid } from 'uuid'
import { rfc3339 } from '../../shared/platform/clock.ts'
import { parameters } from '../../shared/platform/database/statement.ts'
import { type Page, type PageRequest, pageOfRows } from '../../shared/platform/pagination.ts'
import { acceptedSqlOf, hasAudienceSqlOf, hasClientSql } from '../principals/accepted-logins.ts'
import { f, l, p, s, u } from '../store/aliases.ts'
import { builtInNameSql, clientIdSql, isBuiltInSql } from '../store/built-in-clients.ts'
import { clients } from '../store/client-tables.ts'
import { loginFamilies, principals, sessions, users } from '../store/schema.ts'
import type { LoginSystems } from './login-systems.ts'
import { milliseconds } from './refresh-token-families.ts'

/** A login or session that is valid. Times in milliseconds. */
export interface LoginView {
  readonly id: string
  readonly kind: 'session' | 'login'
  readonly createdAt: number
  /** The last-action time of a session; the last refresh of a login by token. */
  readonly lastUsedAt: number
  /** The end of the login, which its use does not move. */
  readonly expiresAt: number
  readonly address: string | null
  readonly userAgent: string | null
  /** The application that it signs in to; null for a session, and for a login at `/login`. */
  readonly client: { readonly id: string; readonly name: string } | null
}

const viewSql = (
  login: typeof s | typeof f,
  kind: LoginView['kind'],
  client: SQL,
) => sql`select ${login.id}, json_build_object(
    'id', ${login.id}, 'kind', ${sql.raw(`'${kind}'`)}, 'createdAt', ${milliseconds(login.createdAt)},
    'lastUsedAt', ${milliseconds(login.lastUsedAt)}, 'expiresAt', ${milliseconds(login.expiresAt)},
    'address', ${login.clientAddress}, 'userAgent', ${login.userAgent}, 'client', ${client}) as view`

const clientOfSql = sql`case when ${isBuiltInSql(f.clientId)}
  then json_build_object('id', ${clientIdSql(f.clientId)}, 'name', ${builtInNameSql(f.clientId)})
  else (select json_build_object('id', ${l.id}, 'name', ${l.name}) from ${clients} ${l} where ${l.id} = ${f.clientId}) end`

const page = parameters({
  userId: 'uuid',
  now: 'timestamptz',
  idleSince: 'timestamptz',
  after: 'uuid | null',
  id: 'uuid | null',
  limit: 'int',
})
/** Ids grow with time, so they give the order and the cursor. */
const listSql = page.statement(sql`select l.view from ${users} ${u}
    join ${principals} ${p} on ${p.usernameFolded} = ${u.usernameFolded}
    cross join lateral (
      ${viewSql(s, 'session', sql`null`)} from ${sessions} ${s}
      where ${s.userId} = ${u.id} and ${s.endedAt} is null and ${s.expiresAt} > ${page.now}
        and ${s.lastUsedAt} > ${page.idleSince} and ${acceptedSqlOf(s)} and ${hasAudienceSqlOf(s)}
      union all
      ${viewSql(f, 'login', clientOfSql)} from ${loginFamilies} ${f}
      where ${f.userId} = ${u.id} and ${f.endedAt} is null
        and greatest(${f.tokensExpireAt}, ${f.refreshExpiresAt}) > ${page.now} and ${acceptedSqlOf(f)}
        and ${hasAudienceSqlOf(f)} and ${hasClientSql}
    ) l
  where ${u.id} = ${page.userId} and (${page.after} is null or l.id < ${page.after})
    and (${page.id} is null or l.id = ${page.id})
  order by l.id desc limit ${page.limit}`)

/** Creates the lists of valid logins and sessions over these systems. Both functions throw Unavailable. */
export function createLoginLists({ database, clock, settings }: LoginSystems) {
  const read = async (userId: string, more: { after: string | null; id: string | null; limit: number }) => {
    const now = clock.now()
    const list = listSql({
      userId,
      now: rfc3339(now),
      idleSince: rfc3339(now - settings.sessionIdleTtlSeconds * 1000),
      after: more.after,
      id: more.id,
      limit: more.limit,
    })
    return (await database.query<{ view: LoginView }>(...list)).map(({ view }) => view)
  }
  return {
    /** The newest first. */
    list: async (userId: string, { limit, after }: PageRequest): Promise<Page<LoginView>> => {
      const views = await read(userId, { after: after ? String(after[0]) : null, id: null, limit: limit + 1 })
      return pageOfRows(views, limit, { item: (view) => view, position: ({ id }) => [id] })
    },
    /** Undefined when this user has no valid login with this id. */
    find: async (userId: string, id: string): Promise<LoginView | undefined> =>
      isUuid(id) ? (await read(userId, { after: null, id, limit: 1 }))[0] : undefined,
  }
}
