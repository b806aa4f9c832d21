/**
 * Builds principal records from the database. The only reader of those tables for that purpose, so that the cache, the feed and
 * `/internal` can never disagree about what a record holds.
 */

import type { Clock } from '../../shared/platform/clock.ts'
import type { Database } from '../../shared/platform/database/database.ts'
import { clockToleranceSeconds } from '../../shared/protocol/clock-tolerance.ts'
import type { InstancePrincipal } from '../../shared/protocol/principal/record.ts'
import { foldUsername, type PrincipalRecord } from '../../shared/protocol/principal/record.ts'
import { noCounter } from './change-counter.ts'
import { effectiveRights } from './rights.ts'
import { isUsername } from './user.ts'

/** What the tables say of a principal: a record before roles are turned into rights. */
export interface PrincipalFacts {
  readonly username: string
  readonly userId: string
  readonly enabled: boolean
  readonly roles: readonly string[]
  readonly rights: readonly string[]
  readonly generation: number
  readonly keptLogin: { readonly id: string; readonly generation: number } | null
  readonly revokedIds: readonly string[]
  readonly version: number
}

/** A token that expired before this time (RFC 3339) has expired for every server, also for one whose clock is behind. */
export const tokensAliveSince = (clock: Clock): string =>
  new Date(clock.now() - clockToleranceSeconds * 1000).toISOString()

/**
 * SQL for the `PrincipalFacts` of a row `p` of auth.principals, as JSON; `aliveSince` is SQL for `tokensAliveSince`. An ended login
 * matters as long as a token of it lives and its generation does not refuse it anyway.
 */
export const principalFactsSql = (aliveSince: string): string => `json_build_object(
  'username', p.username, 'userId', p.user_id, 'generation', p.generation, 'version', p.change_number,
  'keptLogin', case when p.kept_login_id is not null
    then json_build_object('id', p.kept_login_id, 'generation', p.kept_login_generation) end,
  'enabled', coalesce((select u.enabled from auth.users u where u.id = p.user_id), false),
  'roles', coalesce((select to_json(u.roles) from auth.users u where u.id = p.user_id), '[]'),
  'rights', coalesce((select to_json(u.rights) from auth.users u where u.id = p.user_id), '[]'),
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
    where t.user_id = p.user_id and t.expires_at > ${aliveSince}) e), '[]'))`

const readSql = `select c.installation_id::text as "instanceId",
  (select ${principalFactsSql('$2::text::timestamptz')} from auth.principals p where p.username_folded = $1) as facts
  from auth.principal_change_counter c`

/** The record these facts make. */
export function toPrincipalRecord(facts: PrincipalFacts): PrincipalRecord {
  const { roles, rights, revokedIds, ...rest } = facts
  return { schema: 1, ...rest, rights: effectiveRights(roles, rights), revokedIds: [...revokedIds] }
}

interface PrincipalSource {
  readonly database: Pick<Database, 'query'>
  readonly clock: Clock
}

/**
 * The record of the user of this name as the database has it now: not enabled when the user is disabled or deleted, undefined when
 * there never was one. @throws Unavailable
 */
export const readPrincipalRecord = async (
  source: PrincipalSource,
  username: string,
): Promise<PrincipalRecord | undefined> => (await readPrincipal(source, username)).record

/** The same, with the instance that the database is. @throws Unavailable */
export async function readPrincipal(
  { database, clock }: PrincipalSource,
  username: string,
): Promise<InstancePrincipal> {
  // Nobody has the empty name.
  const name = isUsername(username) ? foldUsername(username) : ''
  const parameters = [name, tokensAliveSince(clock)]
  const [row] = await database.query<{ instanceId: string; facts: PrincipalFacts | null }>(readSql, parameters)
  if (!row) throw new TypeError(noCounter)
  return { instanceId: row.instanceId, record: row.facts ? toPrincipalRecord(row.facts) : undefined }
}
