/** Lists the logins of a user, by token and by cookie, as users and administrators see them. */
import { validate as isUuid } from 'uuid'
import type { Clock } from '../../shared/platform/clock.ts'
import type { Database } from '../../shared/platform/database/database.ts'
import { type Page, type PageRequest, pageOfRows } from '../../shared/platform/pagination.ts'
import { acceptedSqlOf, milliseconds } from './refresh-token-families.ts'

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

const viewSql = (alias: string, kind: LoginView['kind']) => `select ${alias}.id, json_build_object(
    'id', ${alias}.id, 'kind', '${kind}', 'createdAt', ${milliseconds(`${alias}.created_at`)},
    'lastUsedAt', ${milliseconds(`${alias}.last_used_at`)}, 'expiresAt', ${milliseconds(`${alias}.expires_at`)},
    'address', ${alias}.client_address, 'userAgent', ${alias}.user_agent) as view`

/** Ids grow with time, so they give the order and the cursor. */
const listSql = `select l.view from auth.users u
    join auth.principals p on p.username_folded = u.username_folded
    cross join lateral (
      ${viewSql('s', 'session')} from auth.sessions s
      where s.user_id = u.id and s.ended_at is null and s.expires_at > $2::text::timestamptz
        and s.last_used_at > $3::text::timestamptz and ${acceptedSqlOf('s')}
      union all
      ${viewSql('f', 'login')} from auth.login_families f
      where f.user_id = u.id and f.ended_at is null
        and greatest(f.tokens_expire_at, f.refresh_expires_at) > $2::text::timestamptz and ${acceptedSqlOf('f')}
    ) l
  where u.id = $1::text::uuid and ($4::text is null or l.id < $4::text::uuid)
    and ($5::text is null or l.id = $5::text::uuid)
  order by l.id desc limit $6::int`

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
