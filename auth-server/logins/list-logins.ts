/** Lists the logins of a user, by token and by cookie, as users and administrators see them. */
import { sql } from 'drizzle-orm'
import { validate as isUuid } from 'uuid'
import type { Clock } from '../../shared/platform/clock.ts'
import type { Database } from '../../shared/platform/database/database.ts'
import { textOf } from '../../shared/platform/database/statement.ts'
import { type Page, type PageRequest, pageOfRows } from '../../shared/platform/pagination.ts'
import { f, p, s, u } from '../store/aliases.ts'
import { loginFamilies, principals, sessions, users } from '../store/schema.ts'
import { acceptedSqlOf, hasAudienceSqlOf } from './accepted.ts'
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
}

/** The systems and the setting that the lists use. */
export interface ListLoginsPorts {
  readonly database: Pick<Database, 'query'>
  readonly clock: Clock
  /** SESSION_IDLE_TTL. */
  readonly sessionIdleTtlSeconds: number
}

/** Lists of valid logins and sessions. Both methods throw Unavailable. */
export interface LoginLists {
  /** The newest first. */
  list(userId: string, page: PageRequest): Promise<Page<LoginView>>
  /** Undefined when this user has no valid login with this id. */
  find(userId: string, id: string): Promise<LoginView | undefined>
}

const viewSql = (login: typeof s | typeof f, kind: LoginView['kind']) => sql`select ${login.id}, json_build_object(
    'id', ${login.id}, 'kind', ${sql.raw(`'${kind}'`)}, 'createdAt', ${milliseconds(login.createdAt)},
    'lastUsedAt', ${milliseconds(login.lastUsedAt)}, 'expiresAt', ${milliseconds(login.expiresAt)},
    'address', ${login.clientAddress}, 'userAgent', ${login.userAgent}) as view`

/** Ids grow with time, so they give the order and the cursor. */
const listSql = textOf(sql`select l.view from ${users} ${u}
    join ${principals} ${p} on ${p.usernameFolded} = ${u.usernameFolded}
    cross join lateral (
      ${viewSql(s, 'session')} from ${sessions} ${s}
      where ${s.userId} = ${u.id} and ${s.endedAt} is null and ${s.expiresAt} > $2::text::timestamptz
        and ${s.lastUsedAt} > $3::text::timestamptz and ${acceptedSqlOf(s)} and ${hasAudienceSqlOf(s)}
      union all
      ${viewSql(f, 'login')} from ${loginFamilies} ${f}
      where ${f.userId} = ${u.id} and ${f.endedAt} is null
        and greatest(${f.tokensExpireAt}, ${f.refreshExpiresAt}) > $2::text::timestamptz and ${acceptedSqlOf(f)}
        and ${hasAudienceSqlOf(f)}
    ) l
  where ${u.id} = $1::text::uuid and ($4::text is null or l.id < $4::text::uuid)
    and ($5::text is null or l.id = $5::text::uuid)
  order by l.id desc limit $6::int`)

/** Creates the lists over these ports. */
export function createLoginLists({ database, clock, sessionIdleTtlSeconds }: ListLoginsPorts): LoginLists {
  const read = async (userId: string, more: { after: string | null; id: string | null; limit: number }) => {
    const now = clock.now()
    const [expiredBy, idleSince] = [now, now - sessionIdleTtlSeconds * 1000].map((ms) => new Date(ms).toISOString())
    const { after, id, limit } = more
    const parameters = [userId, expiredBy ?? '', idleSince ?? '', after, id, limit]
    return (await database.query<{ view: LoginView }>(listSql, parameters)).map(({ view }) => view)
  }
  return {
    list: async (userId, { limit, after }) => {
      const views = await read(userId, { after: after ? String(after[0]) : null, id: null, limit: limit + 1 })
      return pageOfRows(views, limit, { item: (view) => view, position: ({ id }) => [id] })
    },
    find: async (userId, id) => (isUuid(id) ? (await read(userId, { after: null, id, limit: 1 }))[0] : undefined),
  }
}
