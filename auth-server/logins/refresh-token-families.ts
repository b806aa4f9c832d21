/**
 * Refresh token families in the database. One conditional statement decides between concurrent callers, so no other
 * statement can come between its read and its write. Times come from the caller's clock; only the window for repeating
 * a refresh goes by PostgreSQL's clock at both ends, since two servers may take part in it.
 */

import { type SQLWrapper, sql } from 'drizzle-orm'
import { validate as isUuid } from 'uuid'
import { type Database, DatabaseError } from '../../shared/platform/database/database.ts'
import { namesOf, textOf } from '../../shared/platform/database/statement.ts'
import { entriesUnderWay } from '../audit/change-entries.ts'
import { insertEntriesSql } from '../audit/journal.ts'
import { demandSql } from '../principals/demand-sql.ts'
import { type ReadPrincipal, readPrincipalSql, tokensAliveSince, toPrincipal } from '../principals/principal-record.ts'
import { f, p, s, u } from '../store/aliases.ts'
import { loginFamilies, principals, sessions, users } from '../store/schema.ts'
import { acceptedFamilySql, acceptedSqlOf } from './accepted.ts'
import type { RefreshTokenFamily, TokenTimes } from './refresh-token-family.ts'
import { createRotate, type Rotate, type Rotated, refreshEntries } from './rotate-families.ts'

/** A new refresh token family. `times` and `expiresAt` are in seconds since the epoch. */
export interface NewRefreshTokenFamily {
  readonly id: string
  readonly userId: string
  /** The hash that the password was checked against. If another one is stored now, the check is void. */
  readonly passwordHash: string
  /** The RFC 8176 value of the second factor; null for a login without one. */
  readonly factor: string | null
  /** The audience of its access tokens; null: that of the pair. */
  readonly audience: string | null
  readonly expiresAt: number
  readonly times: TokenTimes
  readonly clientAddress: string | undefined
  readonly userAgent: string | undefined
}

/**
 * The revoked logins with unexpired tokens and the sessions revoked before their expiry, if their generation is
 * current. Displaced logins are not counted (`make-room.ts`).
 */
export interface RevokedIds {
  readonly count: number
  /** When the first of them can be forgotten, in milliseconds; null when there are none. */
  readonly firstExpiry: number | null
}

/** The store of refresh token families. Every method throws Unavailable when the database does not answer. */
export interface RefreshTokenFamilies {
  /**
   * Starts a family with the user's current generation. Undefined when the user was disabled or deleted, or got another
   * password hash, since the password was checked.
   */
  start(family: NewRefreshTokenFamily): Promise<{ readonly generation: number } | undefined>
  /** The family with this id; undefined when there is none, also for a text that is no UUID. */
  find(id: string): Promise<RefreshTokenFamily | undefined>
  readonly rotate: Rotate
  /**
   * The unused successor of `counter`, encrypted, if it was made within the last `withinMs`. Undefined when there is
   * none or the family is revoked. Stores the expiry of the new access token. `now` in milliseconds.
   */
  repeat(
    id: string,
    retry: { username: string; counter: number; withinMs: number; accessExpiresAt: number; now: number },
  ): Promise<Repeated | undefined>
  /** Counts the revoked ids of a user that count towards the limit. `now` in milliseconds. */
  revokedIds(userId: string, now: number): Promise<RevokedIds>
}

/** A successor that is sent again. */
export interface Repeated extends Rotated {
  readonly sealed: string
  /** In milliseconds. */
  readonly refreshExpiresAt: number
}

type RepeatedRow = Omit<Repeated, 'principal'> & { readonly principal: ReadPrincipal }

/** SQL for a time in milliseconds since the epoch. */
export const milliseconds = (column: SQLWrapper) => sql`round(extract(epoch from ${column}) * 1000)`

/** SQL for the milliseconds since then, by PostgreSQL's clock. */
const millisecondsSince = (column: SQLWrapper) => milliseconds(sql`(clock_timestamp() - ${column})`)

/** The lock makes a change of the user wait, so that its record has this login too. */
const startSql = textOf(sql`with started as (insert into ${loginFamilies}
    (${namesOf(loginFamilies, 'id', 'userId', 'usernameFolded', 'generation', 'createdAt', 'lastUsedAt', 'expiresAt')},
    ${namesOf(loginFamilies, 'refreshExpiresAt', 'tokensExpireAt', 'clientAddress', 'userAgent', 'secondFactor', 'audience')})
  select $1::text::uuid, ${u.id}, ${p.usernameFolded}, ${p.generation}, $4::text::timestamptz, $4::text::timestamptz,
    $5::text::timestamptz, $6::text::timestamptz, $7::text::timestamptz, $8::text, $9::text, $10::text,
    $11::text
  from ${users} ${u} join ${principals} ${p} on ${p.usernameFolded} = ${u.usernameFolded} and ${p.userId} = ${u.id}
  where ${u.id} = $2::text::uuid and ${u.passwordHash} = $3::text and ${u.enabled}
    and ($10::text is not null or not ${demandSql})
  for share of u
  returning ${loginFamilies.generation}),
  noted as (${insertEntriesSql(sql`$12::text::json`, sql`started`)})
  select generation from started`)

const findSql =
  textOf(sql`select json_build_object('id', ${f.id}, 'username', ${u.username}, 'generation', ${f.generation},
    'audience', ${f.audience}, 'counter', ${f.counter}, 'rotatedAgoMs', ${millisecondsSince(f.rotatedAt)},
    'formerRotatedAgoMs', ${millisecondsSince(f.formerRotatedAt)}, 'expiresAt', ${milliseconds(f.expiresAt)},
    'refreshExpiresAt', ${milliseconds(f.refreshExpiresAt)},
    'alive', ${f.endedAt} is null and ${acceptedFamilySql}) as family
  from ${loginFamilies} ${f} join ${users} ${u} on ${u.id} = ${f.userId}
    join ${principals} ${p} on ${p.usernameFolded} = ${f.usernameFolded}
  where ${f.id} = $1::text::uuid`)

const repeatSql = textOf(sql`with repeated as (update ${loginFamilies} ${f}
  set ${namesOf(loginFamilies, 'tokensExpireAt')} = greatest(${f.tokensExpireAt}, $4::text::timestamptz)
  from ${users} ${u}, ${principals} ${p}
  where ${f.id} = $1::text::uuid and ${f.counter} = $2::int + 1 and ${f.endedAt} is null
    and ${millisecondsSince(f.rotatedAt)} <= $3::int
    and ${u.id} = ${f.userId} and ${p.usernameFolded} = ${f.usernameFolded} and ${acceptedFamilySql}
  returning json_build_object('sealed', ${f.successorSealed},
    'proof', json_build_object('at', floor(extract(epoch from ${f.createdAt})), 'factor', ${f.secondFactor}),
    'refreshExpiresAt', ${milliseconds(f.refreshExpiresAt)},
    'principal', ${readPrincipalSql(sql`$6::text::timestamptz`)}) as repeated),
  noted as (${insertEntriesSql(sql`$5::text::json`, sql`repeated`)})
  select repeated from repeated`)

const revokedSql = textOf(sql`select json_build_object('count', count(*),
    'firstExpiry', ${milliseconds(sql`min(e.until)`)}) as ended
  from ${users} ${u} join ${principals} ${p} on ${p.usernameFolded} = ${u.usernameFolded}
  cross join lateral (
    select ${f.tokensExpireAt} as until from ${loginFamilies} ${f}
    where ${f.userId} = ${u.id} and ${f.endedAt} is not null and ${f.tokensExpireAt} > $2::text::timestamptz
      and ${acceptedSqlOf(f)}
      and ${f.endedReason} <> 'displaced'
    union all
    select ${s.expiresAt} from ${sessions} ${s}
    where ${s.userId} = ${u.id} and ${s.endedAt} is not null and ${s.expiresAt} > $2::text::timestamptz
      and ${s.endedReason} <> 'displaced' and ${acceptedSqlOf(s)}) e
  where ${u.id} = $1::text::uuid`)

/** SQLSTATE: the user was deleted while the statement ran. */
export const foreignKeyViolation = '23503'

/** Creates the store over this database. */
export function createRefreshTokenFamilies(database: Database): RefreshTokenFamilies {
  return {
    start: (family) => startFamily(database, family, startSql),

    async find(id) {
      if (!isUuid(id)) return undefined
      const rows = await database.query<{ family: RefreshTokenFamily }>(findSql, [id])
      return rows[0]?.family
    },

    rotate: createRotate(database),

    async repeat(id, { username, counter, withinMs, accessExpiresAt, now }) {
      const entries = JSON.stringify(refreshEntries({ id, username }))
      const aliveSince = tokensAliveSince({ now: () => now })
      const parameters = [id, counter, Math.ceil(withinMs), fromSeconds(accessExpiresAt), entries, aliveSince]
      const [row] = await database.write<{ repeated: RepeatedRow }>(repeatSql, parameters)
      return row && { ...row.repeated, principal: toPrincipal(row.repeated.principal) }
    },

    async revokedIds(userId, now) {
      const rows = await database.query<{ ended: RevokedIds }>(revokedSql, [userId, timestamp(now)])
      return rows[0]?.ended ?? { count: 0, firstExpiry: null }
    },
  }
}

async function startFamily(
  database: Database,
  family: NewRefreshTokenFamily,
  text: string,
): Promise<{ generation: number } | undefined> {
  const { times } = family
  const { entries, stored } = entriesUnderWay()()
  try {
    const rows = await database.write<{ generation: number }>(text, [
      family.id,
      family.userId,
      family.passwordHash,
      fromSeconds(times.issuedAt),
      fromSeconds(family.expiresAt),
      fromSeconds(times.refreshExpiresAt),
      fromSeconds(times.accessExpiresAt),
      family.clientAddress ?? null,
      family.userAgent ?? null,
      family.factor,
      family.audience,
      JSON.stringify(entries),
    ])
    if (rows.length > 0) stored()
    return rows[0]
  } catch (error) {
    if (error instanceof DatabaseError && error.sqlState === foreignKeyViolation) return undefined
    throw error
  }
}

const timestamp = (ms: number) => new Date(ms).toISOString()
const fromSeconds = (seconds: number) => timestamp(seconds * 1000)
