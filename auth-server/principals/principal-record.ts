/**
 * Builds principal records from the database. The cache, the change feed and `/internal` all use it, so their records
 * are the same.
 */

import { type SQL, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/pg-core'
import type { Clock } from '../../shared/platform/clock.ts'
import type { Database } from '../../shared/platform/database/database.ts'
import { parameters, sqlTextOf } from '../../shared/platform/database/statement.ts'
import { requirePrimary } from '../../shared/platform/history/history.ts'
import { clockToleranceSeconds } from '../../shared/protocol/clock-tolerance.ts'
import type { Catalogue } from '../../shared/protocol/principal/catalogue.ts'
import {
  foldUsername,
  type InstancePrincipal,
  isUsername,
  type StoredPrincipal,
  secondFactorMark,
} from '../../shared/protocol/principal/record.ts'
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
import { hangsSql } from './accepted-logins.ts'
import { catalogueSql, isCatalogueSql } from './catalogue.ts'
import { instanceIdSql, noCounter } from './change-counter.ts'
import { demandSql } from './demand-sql.ts'

/** The contents of the tables for one principal. */
export interface PrincipalFacts {
  readonly username: string
  readonly userId: string
  readonly enabled: boolean
  readonly roles: readonly string[]
  readonly rights: readonly string[]
  readonly generation: number
  readonly throttleGeneration: number
  readonly keptLogin: { readonly id: string; readonly generation: number } | null
  readonly revokedIds: readonly string[]
  /** True when the user needs a second factor. Then `revokedIds` also has the live logins without one. */
  readonly secondFactorRequired?: boolean
  readonly version: number
}

/** A token that expired before this time (RFC 3339) is expired on every server, also on one with a slow clock. */
export const tokensAliveSince = (now: number): string => new Date(now - clockToleranceSeconds * 1000).toISOString()

const t = alias(endedTokens, 't')

/** SQL for the ids of live logins and API keys that have no second factor, if the user `u` needs one. */
const withoutFactorSql = (
  aliveSince: SQL,
): SQL => sql`union all select ${f.id}, ${f.createdAt} from ${loginFamilies} ${f}
    where ${demandSql} and ${f.userId} = ${p.userId} and ${f.secondFactor} is null and ${f.endedAt} is null
      and greatest(${f.tokensExpireAt}, ${f.refreshExpiresAt}) > ${aliveSince}
      and (${f.generation} = ${p.generation} or ${f.id}::text = ${p.keptLoginId})
    union all select ${s.id}, ${s.createdAt} from ${sessions} ${s}
    where ${demandSql} and ${s.userId} = ${p.userId} and ${s.secondFactor} is null and ${s.endedAt} is null
      and ${s.expiresAt} > ${aliveSince} and (${s.generation} = ${p.generation} or ${s.id}::text = ${p.keptLoginId})
    union all select ${k.id}, ${k.createdAt} from ${apiKeys} ${k}
    where ${demandSql} and ${k.userId} = ${p.userId} and not ${k.confirmed} and ${k.revokedAt} is null
      and (${k.expiresAt} is null or greatest(${k.tokensExpireAt}, ${k.expiresAt}) > ${aliveSince})`

/**
 * SQL for the `PrincipalFacts` of a row `p` of auth.principals, as JSON. `aliveSince` is SQL for `tokensAliveSince`. A
 * revoked login is in the record while it has an unexpired token and its generation is still accepted.
 */
export const principalFactsSql = (aliveSince: SQL): SQL => sql`(select json_build_object(
  'username', ${p.username}, 'userId', ${p.userId}, 'generation', ${p.generation}, 'version', ${p.principalVersion},
  'throttleGeneration', ${p.throttleGeneration},
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
    union all select ${f.id}, ${s.endedAt} from ${sessions} ${s} join ${loginFamilies} ${f}
      on ${f.sessionId} = ${s.id} and ${f.endedAt} is null and ${hangsSql}
    where ${s.userId} = ${p.userId} and ${s.endedAt} is not null and ${f.tokensExpireAt} > ${aliveSince}
      and (${f.generation} = ${p.generation} or ${f.id}::text = ${p.keptLoginId})
    union all
    select ${k.id}, ${k.revokedAt} from ${apiKeys} ${k}
    where ${k.userId} = ${p.userId} and ${k.revokedAt} is not null and ${k.tokensExpireAt} > ${aliveSince}
    union all select ${t.id}, ${t.endedAt} from ${endedTokens} ${t}
    where ${t.userId} = ${p.userId} and ${t.expiresAt} > ${aliveSince}
    ${withoutFactorSql(aliveSince)}) e), '[]'),
  'secondFactorRequired', coalesce(${demandSql}, false))
  from (select 1) one left join ${users} ${u} on ${u.id} = ${p.userId})`

const read = parameters({ usernameFolded: 'text', aliveSince: 'timestamptz' })
const readSql = read.statement(sql`select ${instanceIdSql} as "instanceId",
  (select ${principalFactsSql(read.aliveSince)} from ${principals} ${p}
    where ${p.usernameFolded} = ${read.usernameFolded}) as facts
  from ${principalChangeCounter} ${c}`)

/** A principal that a statement returns with something else. */
export interface ReadPrincipal {
  /** Null on a standby. */
  readonly instanceId: string | null
  readonly facts: PrincipalFacts
}

/** SQL for a `ReadPrincipal`, of a row `p` of auth.principals. `aliveSince` is SQL for `tokensAliveSince`. */
export const readPrincipalSql = (aliveSince: SQL): SQL => sql`json_build_object(
  'instanceId', (select ${instanceIdSql} from ${principalChangeCounter} ${c}), 'facts', ${principalFactsSql(aliveSince)})`

/** The principal with its record. */
export const toPrincipal = ({ instanceId, facts }: ReadPrincipal): InstancePrincipal => ({
  instanceId: requirePrimary(instanceId),
  record: toStoredPrincipal(facts),
})

/** Makes the record. */
export function toStoredPrincipal(facts: PrincipalFacts): StoredPrincipal {
  const { roles, rights, revokedIds, secondFactorRequired = false, ...rest } = facts
  const marks = secondFactorRequired ? [secondFactorMark] : []
  return { schema: 2, ...rest, roles: [...roles], directRights: [...rights], revokedIds: [...marks, ...revokedIds] }
}

interface PrincipalSource {
  readonly database: Database
  readonly clock: Clock
}

/**
 * Reads the principal record of a user name from the database, with the instance id of the database. `enabled` is false
 * for a disabled or deleted user; the record is undefined when there never was such a user. @throws Unavailable
 */
export async function readPrincipal(
  { database, clock }: PrincipalSource,
  username: string,
): Promise<InstancePrincipal> {
  // No user has the empty name.
  const usernameFolded = isUsername(username) ? foldUsername(username) : ''
  const [row] = await database.query<{ instanceId: string | null; facts: PrincipalFacts | null }>(
    ...readSql({ usernameFolded, aliveSince: tokensAliveSince(clock.now()) }),
  )
  if (!row) throw new TypeError(noCounter)
  const instanceId = requirePrimary(row.instanceId)
  return { instanceId, record: row.facts ? toStoredPrincipal(row.facts) : undefined }
}

/** The catalogue in one instance. */
export interface InstanceCatalogue {
  readonly instanceId: string
  readonly catalogue: Catalogue
}

const catalogueSqlText = sqlTextOf(sql`select ${instanceIdSql} as "instanceId",
  (select ${catalogueSql} from ${principals} ${p} where ${isCatalogueSql}) as catalogue from ${principalChangeCounter} ${c}`)

/** Reads the catalogue from the database, with the instance id of the database. @throws Unavailable */
export async function readInstanceCatalogue(database: Database): Promise<InstanceCatalogue> {
  const [row] = await database.query<{ instanceId: string | null; catalogue: Catalogue | null }>(catalogueSqlText)
  if (!row?.catalogue) throw new TypeError(noCounter)
  return { instanceId: requirePrimary(row.instanceId), catalogue: row.catalogue }
}
