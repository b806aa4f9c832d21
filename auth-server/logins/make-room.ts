/**
 * Limits the logins of a user: when a new login exceeds `MAX_LOGINS_PER_USER`, the least recently used one is revoked.
 */
import { sql } from 'drizzle-orm'
import { rfc3339 } from '../../shared/platform/clock.ts'
import type { Drizzle } from '../../shared/platform/database/database.ts'
import { changePrincipal, isCurrent, type LoginGeneration } from '../users/principal-change.ts'
import { whenPublished } from '../users/principal-publisher.ts'
import { acceptedSqlOf } from './refresh-token-families.ts'
import { type RevokeLoginPorts, revokeRow } from './revoke-login.ts'

/** The systems and settings that this limit uses. */
export interface MakeRoomPorts extends RevokeLoginPorts {
  /** MAX_LOGINS_PER_USER: token logins and sessions together. */
  readonly maxLoginsPerUser: number
  /** SESSION_IDLE_TTL. */
  readonly sessionIdleTtlSeconds: number
}

/** A login or session that has just started. */
export interface NewLogin {
  readonly userId: string
  readonly username: string
  readonly login: LoginGeneration
}

/**
 * How many displaced logins of a user are remembered until their tokens expire. Other revoked ids are counted apart.
 */
export const maxDisplacedLogins = 1000

/**
 * Revokes the least recently used logins above the limit, as a logout does, but never the new one. When too many
 * displaced logins would be remembered, raises the credential generation instead, which revokes all other logins at
 * once. A flood of logins therefore never locks the user out, and the principal record stays bounded.
 * @throws Unavailable
 */
export async function makeRoom(ports: MakeRoomPorts, started: NewLogin): Promise<void> {
  const { database, publisher } = ports
  if (!(await hasExcess(ports, started))) return
  const displaced = { actor: started.username, outcome: 'displaced' }
  await whenPublished(
    publisher,
    changePrincipal(database, started.username, async (transaction, principal) => {
      const excess = await findExcess(transaction, ports, started)
      if (excess.length === 0) return { result: undefined, entries: [] }
      if ((await countDisplaced(transaction, ports, started)) + excess.length > maxDisplacedLogins) {
        const keptLogin = isCurrent(principal, started.login) ? started.login : null
        const entry = { ...displaced, action: 'user.logged-out', target: started.username }
        return { result: undefined, change: { raiseGeneration: { keptLogin } }, entries: [entry] }
      }
      for (const { id, kind } of excess) {
        await revokeRow[kind](ports, transaction, { id, reason: 'displaced' })
      }
      const entries = excess.map(({ id: target }) => ({ ...displaced, action: 'login.ended', target }))
      return { result: undefined, change: {}, entries }
    }),
  )
}

const accepted = (alias: string) => sql.raw(acceptedSqlOf(alias))

const usersWithPrincipals = sql.raw(
  'auth.users u join auth.principals p on p.username_folded = u.username_folded and p.user_id = u.id',
)

/** The valid logins `l` of a user, where `given` has `user_id`, `now` and `idle_since`. */
const aliveSql = `auth.users u join auth.principals p on p.username_folded = u.username_folded and p.user_id = u.id
  cross join lateral (
    select f.id, f.last_used_at, 'login' as kind from auth.login_families f
    where f.user_id = u.id and f.ended_at is null and ${acceptedSqlOf('f')}
      and greatest(f.tokens_expire_at, f.refresh_expires_at) > given.now
    union all
    select s.id, s.last_used_at, 'session' from auth.sessions s
    where s.user_id = u.id and s.ended_at is null and ${acceptedSqlOf('s')}
      and s.expires_at > given.now and s.last_used_at > given.idle_since) l
  where u.id = given.user_id`

const countSql = `select count(*)::text as count from (select $1::text::uuid as user_id,
    $2::text::timestamptz as now, $3::text::timestamptz as idle_since) given, ${aliveSql}`

/** The parameters of `aliveSql`. */
const givenOf = ({ clock, sessionIdleTtlSeconds }: MakeRoomPorts) => {
  const now = clock.now()
  return { now: rfc3339(now), idleSince: rfc3339(now - sessionIdleTtlSeconds * 1000) }
}

/** True when the user has more valid logins than the limit: rare, so only then the transaction begins. */
async function hasExcess(ports: MakeRoomPorts, { userId }: NewLogin): Promise<boolean> {
  const { now, idleSince } = givenOf(ports)
  const [row] = await ports.database.query<{ count: string }>(countSql, [userId, now, idleSince])
  return Number(row?.count ?? 0) > ports.maxLoginsPerUser
}

/** The valid logins above the limit, logins by token first: rows are locked in this order. */
function findExcess(drizzle: Drizzle, ports: MakeRoomPorts, { userId, login }: NewLogin) {
  const { now, idleSince } = givenOf(ports)
  const given = sql`(select ${userId}::uuid as user_id, ${now}::timestamptz as now,
    ${idleSince}::timestamptz as idle_since) given`
  return drizzle
    .select({ id: sql<string>`l.id::text`, kind: sql<'login' | 'session'>`l.kind` })
    .from(sql`(select l.id, l.kind from ${given}, ${sql.raw(aliveSql)}
      order by l.id = ${login.id}::uuid desc, l.last_used_at desc, l.id desc
      offset ${ports.maxLoginsPerUser}) l`)
    .orderBy(sql`l.kind`, sql`l.id`)
}

async function countDisplaced(drizzle: Drizzle, { clock }: MakeRoomPorts, { userId }: NewLogin): Promise<number> {
  const now = new Date(clock.now()).toISOString()
  const [row] = await drizzle
    .select({ count: sql<number>`count(*)::int` })
    .from(sql`${usersWithPrincipals} cross join lateral (
      select f.id from auth.login_families f
      where f.user_id = u.id and f.ended_reason = 'displaced' and f.tokens_expire_at > ${now}::timestamptz
        and ${accepted('f')}
      union all
      select s.id from auth.sessions s
      where s.user_id = u.id and s.ended_reason = 'displaced' and s.expires_at > ${now}::timestamptz
        and ${accepted('s')}) l`)
    .where(sql`u.id = ${userId}::uuid`)
  return row?.count ?? 0
}
