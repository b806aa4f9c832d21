/**
 * Builds principal records from the database. The cache, the change feed and `/internal` all use it, so their records
 * are the same.
 */

import type { Clock } from '../../shared/platform/clock.ts'
import type { Database } from '../../shared/platform/database/database.ts'
import { requirePrimary } from '../../shared/platform/history/history.ts'
import { clockToleranceSeconds } from '../../shared/protocol/clock-tolerance.ts'
import type { InstancePrincipal } from '../../shared/protocol/principal/record.ts'
import { foldUsername, type PrincipalRecord, secondFactorMark } from '../../shared/protocol/principal/record.ts'
import { instanceIdSql, noCounter } from './change-counter.ts'
import { effectiveRights, type Role } from './rights.ts'
import { secondFactorDemandSql } from './second-factor-demand.ts'
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

/** SQL for the ids of live logins and API keys that have no second factor, if the user `u` needs one. */
const withoutFactorSql = (aliveSince: string, demand: string): string => `
    union all select f.id, f.created_at from auth.login_families f
    where ${demand} and f.user_id = p.user_id and f.second_factor is null and f.ended_at is null
      and greatest(f.tokens_expire_at, f.refresh_expires_at) > ${aliveSince}
      and (f.generation = p.generation or f.id::text = p.kept_login_id)
    union all select s.id, s.created_at from auth.sessions s
    where ${demand} and s.user_id = p.user_id and s.second_factor is null and s.ended_at is null
      and s.expires_at > ${aliveSince} and (s.generation = p.generation or s.id::text = p.kept_login_id)
    union all select k.id, k.created_at from auth.api_keys k
    where ${demand} and k.user_id = p.user_id and not k.confirmed and k.revoked_at is null
      and (k.expires_at is null or greatest(k.tokens_expire_at, k.expires_at) > ${aliveSince})`

/**
 * SQL for the `PrincipalFacts` of a row `p` of auth.principals, as JSON. `aliveSince` is SQL for `tokensAliveSince`. A
 * revoked login stands in the record while it has an unexpired token and its generation is still accepted. `roles` need
 * a second factor.
 */
export function principalFactsSql(aliveSince: string, roles: readonly Role[] = []): string {
  const demand = secondFactorDemandSql(roles)
  return `(select json_build_object(
  'username', p.username, 'userId', p.user_id, 'generation', p.generation, 'version', p.change_number,
  'keptLogin', case when p.kept_login_id is not null
    then json_build_object('id', p.kept_login_id, 'generation', p.kept_login_generation) end,
  'enabled', coalesce(u.enabled, false),
  'roles', coalesce(to_json(u.roles), '[]'), 'rights', coalesce(to_json(u.rights), '[]'),
  'revokedIds', coalesce((select json_agg(e.id order by e.ended_at, e.id) from (
    select f.id, f.ended_at from auth.login_families f
    where f.user_id = p.user_id and f.ended_at is not null and f.tokens_expire_at > ${aliveSince}
      and (f.generation = p.generation or f.id::text = p.kept_login_id)
    union all select s.id, s.ended_at from auth.sessions s
    where s.user_id = p.user_id and s.ended_at is not null and s.expires_at > ${aliveSince}
      and (s.generation = p.generation or s.id::text = p.kept_login_id)
    union all
    select k.id, k.revoked_at from auth.api_keys k
    where k.user_id = p.user_id and k.revoked_at is not null and k.tokens_expire_at > ${aliveSince}
    union all select t.id, t.ended_at from auth.ended_tokens t
    where t.user_id = p.user_id and t.expires_at > ${aliveSince}${withoutFactorSql(aliveSince, demand)}) e), '[]'),
  'secondFactorRequired', coalesce(${demand}, false))
  from (select 1) one left join auth.users u on u.id = p.user_id)`
}

const readSql = (roles: readonly Role[]) => `select ${instanceIdSql} as "instanceId",
  (select ${principalFactsSql('$2::text::timestamptz', roles)} from auth.principals p
    where p.username_folded = $1) as facts
  from auth.principal_change_counter c`

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
  const sql = readSql(secondFactorRoles)
  const [row] = await database.query<{ instanceId: string | null; facts: PrincipalFacts | null }>(sql, parameters)
  if (!row) throw new TypeError(noCounter)
  const instanceId = requirePrimary(row.instanceId)
  return { instanceId, record: row.facts ? toPrincipalRecord(row.facts) : undefined }
}
