/**
 * Builds principal records from the database. The cache, the change feed and `/internal` all use it, so their records
 * are the same.
 */

import { type SQL, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/pg-core'
import type { Clock } from '../../shared/platform/clock.ts'
import type { Database } from '../../shared/platform/database/database.ts'
import { requirePrimary } from '../../shared/platform/history/history.ts'
import { clockToleranceSeconds } from '../../shared/protocol/clock-tolerance.ts'
import type { InstancePrincipal } from '../../shared/protocol/principal/record.ts'
import { foldUsername, type PrincipalRecord, secondFactorMark } from '../../shared/protocol/principal/record.ts'
import { c, f, k, p, s, u } from '../store/aliases.ts'
import {
  apiKeys,
  endedTokens,
  loginFamilies,
  principalChangeCounter,
  principals,
  sessions,
  users,
} from '../store/schema.ts'
import { instanceIdSql, noCounter } from './change-counter.ts'
import { effectiveRights, type Role } from './rights.ts'
import { textOfDemand } from './second-factor-demand.ts'
import { isUsername } from './user.ts'

/** The contents of the tables for one principal: a principal record with roles instead of effective rights. */
export interface PrincipalFacts {
  readonly username: string
  readonly userId: string
  readonly enabled: boolean
  readonly roles: readonly string[]
  readonly rights: readonly string[]
  readonly generation: number
  readonly keptLogin: { readonly id: string; readonly generation: number } | null
  readonly revokedIds: readonly string[]
  /** True when the user needs a second factor. Then `revokedIds` also has the live logins without one. */
  readonly secondFactorRequired?: boolean
  readonly version: number
}

/** A token that expired before this time (RFC 3339) is expired on every server, also on one with a slow clock. */
export const tokensAliveSince = (clock: Clock): string =>
  new Date(clock.now() - clockToleranceSeconds * 1000).toISOString()

const t = alias(endedTokens, 't')

/** SQL for the ids of live logins and API keys that have no second factor, if the user `u` needs one. */
const withoutFactorSql = (
  aliveSince: SQL,
  demand: SQL,
): SQL => sql`union all select ${f.id}, ${f.createdAt} from ${loginFamilies} ${f}
    where ${demand} and ${f.userId} = ${p.userId} and ${f.secondFactor} is null and ${f.endedAt} is null
      and greatest(${f.tokensExpireAt}, ${f.refreshExpiresAt}) > ${aliveSince}
      and (${f.generation} = ${p.generation} or ${f.id}::text = ${p.keptLoginId})
    union all select ${s.id}, ${s.createdAt} from ${sessions} ${s}
    where ${demand} and ${s.userId} = ${p.userId} and ${s.secondFactor} is null and ${s.endedAt} is null
      and ${s.expiresAt} > ${aliveSince} and (${s.generation} = ${p.generation} or ${s.id}::text = ${p.keptLoginId})
    union all select ${k.id}, ${k.createdAt} from ${apiKeys} ${k}
    where ${demand} and ${k.userId} = ${p.userId} and not ${k.confirmed} and ${k.revokedAt} is null
      and (${k.expiresAt} is null or greatest(${k.tokensExpireAt}, ${k.expiresAt}) > ${aliveSince})`

/**
 * SQL for the `PrincipalFacts` of a row `p` of auth.principals, as JSON. `aliveSince` is SQL for `tokensAliveSince`. A
 * revoked login stands in the record while it has an unexpired token and its generation is still accepted. `demand` is
 * `secondFactorDemandSql`.
 */
export const principalFactsSql = (aliveSince: SQL, demand: SQL): SQL => sql`(select json_build_object(
  'username', ${p.username}, 'userId', ${p.userId}, 'generation', ${p.generation}, 'version', ${p.principalVersion},
  'keptLogin', case when ${p.keptLoginId} is not null
    then json_build_object('id', ${p.keptLoginId}, 'generation', ${p.keptLoginGeneration}) end,
  'enabled', coalesce(${u.enabled}, false),
  'roles', coalesce(to_json(${u.roles}), '[]'), 'rights', coalesce(to_json(${u.rights}), '[]'),
  'revokedIds', coalesce((select json_agg(e.id order by e.ended_at, e.id) from (
    select ${f.id}, ${f.endedAt} as ended_at from ${loginFamilies} ${f}
    where ${f.userId} = ${p.userId} and ${f.endedAt} is not null and ${f.tokensExpireAt} > ${aliveSince}
      and (${f.generation} = ${p.generation} or ${f.id}::text = ${p.keptLoginId})
    union all select ${s.id}, ${s.endedAt} from ${sessions} ${s}
    where ${s.userId} = ${p.userId} and ${s.endedAt} is not null and ${s.expiresAt} > ${aliveSince}
      and (${s.generation} = ${p.generation} or ${s.id}::text = ${p.keptLoginId})
    union all
    select ${k.id}, ${k.revokedAt} from ${apiKeys} ${k}
    where ${k.userId} = ${p.userId} and ${k.revokedAt} is not null and ${k.tokensExpireAt} > ${aliveSince}
    union all select ${t.id}, ${t.endedAt} from ${endedTokens} ${t}
    where ${t.userId} = ${p.userId} and ${t.expiresAt} > ${aliveSince}
    ${withoutFactorSql(aliveSince, demand)}) e), '[]'),
  'secondFactorRequired', coalesce(${demand}, false))
  from (select 1) one left join ${users} ${u} on ${u.id} = ${p.userId})`

const readSql = textOfDemand(
  (demand) => sql`select ${instanceIdSql} as "instanceId",
  (select ${principalFactsSql(sql`$2::text::timestamptz`, demand)} from ${principals} ${p}
    where ${p.usernameFolded} = $1) as facts
  from ${principalChangeCounter} ${c}`,
)

/** Makes the record: turns roles into rights. */
export function toPrincipalRecord(facts: PrincipalFacts): PrincipalRecord {
  const { roles, rights, revokedIds, secondFactorRequired = false, ...rest } = facts
  const marks = secondFactorRequired ? [secondFactorMark] : []
  return { schema: 1, ...rest, rights: effectiveRights(roles, rights), revokedIds: [...marks, ...revokedIds] }
}

interface PrincipalSource {
  readonly database: Pick<Database, 'query'>
  readonly clock: Clock
  /** SECOND_FACTOR_ROLES. */
  readonly secondFactorRoles?: readonly Role[]
}

/**
 * Reads the principal record of a user name from the database. `enabled` is false for a disabled or deleted user;
 * undefined when there never was such a user. @throws Unavailable
 */
export const readPrincipalRecord = async (
  source: PrincipalSource,
  username: string,
): Promise<PrincipalRecord | undefined> => (await readPrincipal(source, username)).record

/** The same, with the instance id of the database. @throws Unavailable */
export async function readPrincipal(
  { database, clock, secondFactorRoles = [] }: PrincipalSource,
  username: string,
): Promise<InstancePrincipal> {
  // No user has the empty name.
  const name = isUsername(username) ? foldUsername(username) : ''
  const parameters = [name, tokensAliveSince(clock)]
  const [row] = await database.query<{ instanceId: string | null; facts: PrincipalFacts | null }>(
    readSql(secondFactorRoles),
    parameters,
  )
  if (!row) throw new TypeError(noCounter)
  const instanceId = requirePrimary(row.instanceId)
  return { instanceId, record: row.facts ? toPrincipalRecord(row.facts) : undefined }
}
