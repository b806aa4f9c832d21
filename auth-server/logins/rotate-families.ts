/**
 * Rotates refresh tokens. One conditional statement finds the families, judges them and stores the successors. The
 * rotations of concurrent callers are gathered into one such statement; it decides about each of them alone.
 */
import { type SQLWrapper, sql } from 'drizzle-orm'
import type { Database } from '../../shared/platform/database/database.ts'
import { gatherStatements } from '../../shared/platform/database/gather-statements.ts'
import { namesOf, parameters } from '../../shared/platform/database/statement.ts'
import type { InstancePrincipal } from '../../shared/protocol/principal/record.ts'
import { entriesUnderWay } from '../audit/change-entries.ts'
import type { Pending } from '../audit/journal.ts'
import { insertEntriesSql } from '../audit/journal.ts'
import { acceptedFamilySql } from '../principals/accepted-logins.ts'
import { type ReadPrincipal, readPrincipalSql, tokensAliveSince, toPrincipal } from '../principals/principal-record.ts'
import { f, l, p, u } from '../store/aliases.ts'
import { clientIdSql } from '../store/built-in-clients.ts'
import { clients } from '../store/client-tables.ts'
import { loginFamilies, principals, users } from '../store/schema.ts'
import type { LoginProof } from '../tokens/access-tokens.ts'
import type { ClientLogin } from '../tokens/id-tokens.ts'
import type { TokenLogin } from './issue-tokens.ts'
import type { TokenTimes } from './refresh-token-family.ts'

/** The replacement of the unused refresh token of a family by its successor. */
export interface Rotation {
  /** The login, as the tokens of the family name it. */
  readonly login: TokenLogin
  /** The counter of the token that is used up. */
  readonly counter: number
  /** The successor, encrypted. */
  readonly sealed: string
  /** The times of the new tokens. */
  readonly times: TokenTimes
  /** In milliseconds. */
  readonly now: number
}

/**
 * Rotates. Resolves with the proof that the login began with, and with the principal. Undefined, and nothing changes,
 * when the token was used before, the family is unknown, revoked or expired, or the login ends before the new tokens
 * would. @throws Unavailable
 */
export type Rotate = (rotation: Rotation) => Promise<Rotated | undefined>

/** What a rotation reads. */
export interface Rotated {
  readonly proof: LoginProof
  /** Null for a login at `/login`. */
  readonly client: ClientLogin | null
  readonly principal: InstancePrincipal
}

/** SQL for a time in seconds since the epoch. */
export const secondsOf = (column: SQLWrapper) => sql`floor(extract(epoch from ${column}))`

/** SQL for the `LoginProof` of a family `f`. */
export const proofSql = sql`json_build_object('at', ${secondsOf(sql`coalesce(${f.authenticatedAt}, ${f.createdAt})`)},
  'factor', ${f.secondFactor})`

/** SQL for the `Person` of a row `u` of auth.users. */
export const personSql = sql`json_build_object('userId', ${u.id}, 'username', ${u.username},
  'displayName', ${u.displayName}, 'email', ${u.email}, 'emailVerified', ${u.emailVerified},
  'updatedAt', ${secondsOf(u.updatedAt)}, 'roles', to_json(${u.roles}))`

/** SQL for the rights of a family `f` that its client may still have; null for all. A client without a row has all. */
const rightsSql = sql`(select case when ${l.rights} is null then ${f.rights} when ${f.rights} is null then ${l.rights}
    else array(select a from unnest(${f.rights}) a where a = any(${l.rights})) end
  from (select 1) one left join ${clients} ${l} on ${l.id} = ${f.clientId})`

/** SQL for the `ClientLogin` of a family `f` of user `u`; null for a login at `/login`. */
export const clientLoginSql = sql`case when ${f.clientId} is not null then json_build_object(
  'clientId', ${clientIdSql(f.clientId)}, 'rights', to_json(${rightsSql}), 'scopes', to_json(${f.scopes}),
  'name', (select ${l.name} from ${clients} ${l} where ${l.id} = ${f.clientId}), 'sessionId', ${f.sessionId}, 'person', ${personSql}) end`

const given = parameters({ input: 'json', aliveSince: 'timestamptz' })
/**
 * `input`: an array of `inputOf`. Families are locked first, in the order of their ids, so that two batches cannot wait
 * for each other. `acceptedFamilySql` is the condition on the user `u` and the principal `p` of a family `f`.
 */
const rotateSql = given.statement(sql`with input as (
    select * from json_to_recordset(${given.input}) as i(id uuid, username text, generation int, audience text,
      counter int,
      sealed text, now timestamptz, refresh_expires_at timestamptz, access_expires_at timestamptz, entries json)
  ),
  locked as materialized (
    select ${f.id} from ${loginFamilies} ${f} where ${f.id} = any(array(select id from input))
    order by ${f.id} for no key update
  ),
  rotated as (update ${loginFamilies} ${f} set
    (${namesOf(loginFamilies, 'counter', 'successorSealed', 'rotatedAt', 'formerRotatedAt', 'lastUsedAt')},
      ${namesOf(loginFamilies, 'refreshExpiresAt', 'tokensExpireAt')}) =
    (${f.counter} + 1, i.sealed, clock_timestamp(), ${f.rotatedAt}, i.now,
      i.refresh_expires_at, greatest(${f.tokensExpireAt}, i.access_expires_at))
  from input i join locked l on l.id = i.id, ${users} ${u}, ${principals} ${p}
  where ${f.id} = i.id and ${f.counter} = i.counter and ${f.endedAt} is null and ${f.refreshExpiresAt} > i.now
    and ${f.expiresAt} >= greatest(i.refresh_expires_at, i.access_expires_at)
    and ${u.id} = ${f.userId} and ${u.username} = i.username and ${f.generation} = i.generation
    and ${f.audience} is not distinct from i.audience
    and ${p.usernameFolded} = ${f.usernameFolded} and ${acceptedFamilySql}
  returning ${f.id}::text as id,
    ${proofSql} as proof, ${clientLoginSql} as client,
    ${readPrincipalSql(given.aliveSince)} as principal),
  noted as (${insertEntriesSql(sql`i.entries`, sql`rotated r join input i on i.id = r.id::uuid`)})
  select id, proof, client, principal from rotated`)

interface RotatedRow {
  readonly id: string
  readonly proof: LoginProof
  readonly client: ClientLogin | null
  readonly principal: ReadPrincipal
}

/** Creates the rotation over this database. Two uses of one family never share a statement: the first one decides. */
export function createRotate(database: Database): Rotate {
  const gathered = gatherStatements<NotedRotation, Rotated | undefined>({
    key: ({ login }) => login.id,
    run: async (rotations) => {
      const aliveSince = tokensAliveSince(Math.min(...rotations.map(({ now }) => now)))
      const rows = await database.write<RotatedRow>(...rotateSql({ input: rotations.map(inputOf), aliveSince }))
      const rotated = new Map(
        rows.map(({ id, proof, client, principal }) => [id, { proof, client, principal: toPrincipal(principal) }]),
      )
      return rotations.map(({ login }) => rotated.get(login.id))
    },
  })
  return (rotation) => gathered({ ...rotation, entries: refreshEntries(rotation.login) })
}

/** A rotation with its audit entries. */
interface NotedRotation extends Rotation {
  readonly entries: readonly Pending[]
}

/** The audit entries of a refresh of this login. */
export const refreshEntries = ({ id, username }: Pick<TokenLogin, 'id' | 'username'>): readonly Pending[] =>
  entriesUnderWay()([{ action: 'token.refreshed', actor: username, target: id }]).entries

const inputOf = ({ login, counter, sealed, times, now, entries }: NotedRotation) => ({
  id: login.id,
  username: login.username,
  generation: login.generation,
  audience: login.audience,
  counter,
  sealed,
  now: new Date(now),
  refresh_expires_at: new Date(times.refreshExpiresAt * 1000),
  access_expires_at: new Date(times.accessExpiresAt * 1000),
  entries,
})
