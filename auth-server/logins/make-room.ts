/**
 * Limits the logins of a user: when a new login exceeds `MAX_LOGINS_PER_USER`, the least recently used one is revoked.
 */

import { sql } from 'drizzle-orm'
import { rfc3339 } from '../../shared/platform/clock.ts'
import type { Drizzle } from '../../shared/platform/database/database.ts'
import { parameters } from '../../shared/platform/database/statement.ts'
import { stepMs } from '../../shared/protocol/authentication/session/session-times.ts'
import { acceptedSqlOf, hangsSql, hasAudienceSqlOf, hasClientSql } from '../principals/accepted-logins.ts'
import { changePrincipal, isLoginCurrent, type LoginGeneration } from '../principals/principal-change.ts'
import { whenPublished } from '../principals/principal-publisher.ts'
import { f, p, s, u } from '../store/aliases.ts'
import { loginFamilies, principals, sessions, users } from '../store/schema.ts'
import type { LoginSystems } from './login-systems.ts'
import { revokeRow } from './revoke-login.ts'

/** A login or session that has just started. */
export interface NewLogin {
  readonly userId: string
  readonly username: string
  readonly login: LoginGeneration
  /** Logins and sessions that the user had just before, ended ones left out; absent when nobody has counted. */
  readonly before?: number
}

/** How many logins of one user may begin at once, so that none of them counts the others. */
const maxAtOnce = 64

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
export async function makeRoom(systems: LoginSystems, started: NewLogin): Promise<void> {
  const { database, publisher } = systems
  if (!(await hasExcess(systems, started))) return
  const displaced = { actor: started.username, outcome: 'displaced' }
  await whenPublished(
    publisher,
    changePrincipal(database, started.username, async (transaction, principal) => {
      const excess = await findExcess(transaction, systems, started)
      if (excess.length === 0) return { result: undefined, entries: [] }
      if ((await countDisplaced(transaction, systems, started)) + excess.length > maxDisplacedLogins) {
        const keptLogin = isLoginCurrent(principal, started.login) ? started.login : null
        const entry = { ...displaced, action: 'user.logged-out', target: started.username }
        return { result: undefined, change: { raiseGeneration: { keptLogin } }, entries: [entry] }
      }
      for (const { id, kind } of excess) {
        await revokeRow[kind](systems, transaction, { id, reason: 'displaced' })
      }
      const entries = excess.map(({ id: target }) => ({ ...displaced, action: 'login.ended', target }))
      return { result: undefined, change: {}, entries }
    }),
  )
}

const usersWithPrincipals = sql`${users} ${u}
  join ${principals} ${p} on ${p.usernameFolded} = ${u.usernameFolded} and ${p.userId} = ${u.id}`

/**
 * The valid logins `l` of a user, where `given` has `user_id`, `now` and `idle_since`. Their last use moves in steps
 * (`moves`), but for a login by token only once it has been refreshed: most that were not are of programs that log in
 * for each call.
 */
const aliveSql = sql`${usersWithPrincipals}
  cross join lateral (
    select ${f.id}, ${f.lastUsedAt} as last_used_at, 'login' as kind, ${f.lastUsedAt} > ${f.createdAt} as moves
    from ${loginFamilies} ${f}
    where ${f.userId} = ${u.id} and ${f.endedAt} is null and ${acceptedSqlOf(f)} and ${hasAudienceSqlOf(f)}
      and ${hasClientSql}
      and greatest(${f.tokensExpireAt}, ${f.refreshExpiresAt}) > given.now
    union all
    select ${s.id}, ${s.lastUsedAt}, 'session', true from ${sessions} ${s}
    where ${s.userId} = ${u.id} and ${s.endedAt} is null and ${acceptedSqlOf(s)} and ${hasAudienceSqlOf(s)}
      and ${s.expiresAt} > given.now and ${s.lastUsedAt} > given.idle_since) l
  where ${u.id} = given.user_id`

const counted = parameters({ userId: 'uuid', now: 'timestamptz', idleSince: 'timestamptz' })
const countSql = counted.statement(sql`select count(*)::text as count from (select ${counted.userId} as user_id,
    ${counted.now} as now, ${counted.idleSince} as idle_since) given, ${aliveSql}`)

/** The parameters of `aliveSql`. */
const givenOf = ({ clock, settings }: LoginSystems) => {
  const now = clock.now()
  return { now: rfc3339(now), idleSince: rfc3339(now - settings.sessionIdleTtlSeconds * 1000) }
}

/** True when the user has more valid logins than the limit: rare, so only then the transaction begins. */
async function hasExcess(systems: LoginSystems, { userId, before }: NewLogin): Promise<boolean> {
  if (before !== undefined && before + maxAtOnce <= systems.settings.maxLoginsPerUser) return false
  const { now, idleSince } = givenOf(systems)
  const [row] = await systems.database.query<{ count: string }>(...countSql({ userId, now, idleSince }))
  return Number(row?.count ?? 0) > systems.settings.maxLoginsPerUser
}

/**
 * The valid logins above the limit, logins by token first: rows are locked in this order. A login may have been used
 * until the end of its step: a minute of a session, the lifetime of an access token. Of those whose step is not over,
 * the oldest stay: they are in use, and a flood of logins displaces its own.
 */
function findExcess(drizzle: Drizzle, systems: LoginSystems, { userId, login }: NewLogin) {
  const { now, idleSince } = givenOf(systems)
  const ofSession = stepMs(systems.settings.sessionIdleTtlSeconds * 1000)
  const ofLogin = systems.settings.accessTokenTtlSeconds * 1000
  const step = sql`(case when not l.moves then 0 when l.kind = 'session' then ${ofSession}::float8
    else ${ofLogin}::float8 end)`
  const given = sql`(select ${userId}::uuid as user_id, ${now}::timestamptz as now,
    ${idleSince}::timestamptz as idle_since) given`
  return drizzle
    .select({ id: sql<string>`l.id::text`, kind: sql<'login' | 'session'>`l.kind` })
    .from(sql`(select l.id, l.kind from ${given}, ${aliveSql}
      order by l.id = ${login.id}::uuid desc,
        least(given.now, l.last_used_at + ${step} * interval '1 millisecond') desc, l.id
      offset ${systems.settings.maxLoginsPerUser}) l`)
    .orderBy(sql`l.kind`, sql`l.id`)
}

async function countDisplaced(drizzle: Drizzle, { clock }: LoginSystems, { userId }: NewLogin): Promise<number> {
  const now = new Date(clock.now()).toISOString()
  const [row] = await drizzle
    .select({ count: sql<number>`count(*)::int` })
    .from(sql`${usersWithPrincipals} cross join lateral (
      select ${f.id} from ${loginFamilies} ${f}
      where ${f.userId} = ${u.id} and ${f.endedReason} = 'displaced' and ${f.tokensExpireAt} > ${now}::timestamptz
        and ${acceptedSqlOf(f)}
      union all
      select ${s.id} from ${sessions} ${s}
      where ${s.userId} = ${u.id} and ${s.endedReason} = 'displaced' and ${s.expiresAt} > ${now}::timestamptz
        and ${acceptedSqlOf(s)}
      union all
      select ${f.id} from ${sessions} ${s} join ${loginFamilies} ${f}
        on ${f.sessionId} = ${s.id} and ${f.endedAt} is null and ${hangsSql}
      where ${s.userId} = ${u.id} and ${s.endedReason} = 'displaced' and ${f.tokensExpireAt} > ${now}::timestamptz
        and ${acceptedSqlOf(f)}) l`)
    .where(sql`${u.id} = ${userId}::uuid`)
  return row?.count ?? 0
}
