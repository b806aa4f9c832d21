/**
 * Refresh token families in the database. One conditional statement decides between concurrent callers, so no other
 * statement can come between its read and its write. Times come from the caller's clock; only the window for repeating
 * a refresh goes by PostgreSQL's clock at both ends, since two servers may take part in it.
 */
import { validate as isUuid } from 'uuid'
import { type Database, DatabaseError } from '../../shared/platform/database/database.ts'
import { entriesUnderWay } from '../audit/change-entries.ts'
import { insertEntriesSql } from '../audit/journal.ts'
import type { LoginProof } from '../tokens/access-tokens.ts'
import type { Role } from '../users/rights.ts'
import { secondFactorDemandSql } from '../users/second-factor-demand.ts'
import type { RefreshTokenFamily, TokenTimes } from './refresh-token-family.ts'
import { createRotate, type Rotate, refreshEntries } from './rotate-families.ts'

/** A new refresh token family. `times` and `expiresAt` are in seconds since the epoch. */
export interface NewRefreshTokenFamily {
  readonly id: string
  readonly userId: string
  /** The hash that the password was checked against. If another one is stored now, the check is void. */
  readonly passwordHash: string
  /** The RFC 8176 value of the second factor; null for a login without one. */
  readonly factor: string | null
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
   * none or the family is revoked. Stores the expiry of the new access token.
   */
  repeat(
    id: string,
    retry: { username: string; counter: number; withinMs: number; accessExpiresAt: number },
  ): Promise<Repeated | undefined>
  /** Counts the revoked ids of a user that count towards the limit. `now` in milliseconds. */
  revokedIds(userId: string, now: number): Promise<RevokedIds>
}

/** A successor that is sent again. */
export interface Repeated {
  readonly sealed: string
  readonly proof: LoginProof
  /** In milliseconds. */
  readonly refreshExpiresAt: number
}

/** SQL for a time in milliseconds since the epoch. */
export const milliseconds = (column: string) => `round(extract(epoch from ${column}) * 1000)`

/** SQL for the milliseconds since then, by PostgreSQL's clock. */
const millisecondsSince = (column: string) => milliseconds(`(clock_timestamp() - ${column})`)

/** SQL condition: user `u` is enabled, and principal `p` accepts the generation of this family or session. */
export const acceptedSqlOf = (alias: string): string => `u.enabled and p.user_id = ${alias}.user_id
  and (${alias}.generation = p.generation
    or coalesce(p.kept_login_id = ${alias}.id::text and p.kept_login_generation = ${alias}.generation, false))`

const acceptedSql = acceptedSqlOf('f')

/** The lock makes a change of the user wait, so that its record has this login too. */
const startSql = (
  demand: string,
) => `with started as (insert into auth.login_families (id, user_id, username_folded, generation, created_at, last_used_at,
    expires_at, refresh_expires_at, tokens_expire_at, client_address, user_agent, second_factor)
  select $1::text::uuid, u.id, p.username_folded, p.generation, $4::text::timestamptz, $4::text::timestamptz,
    $5::text::timestamptz, $6::text::timestamptz, $7::text::timestamptz, $8::text, $9::text, $10::text
  from auth.users u join auth.principals p on p.username_folded = u.username_folded and p.user_id = u.id
  where u.id = $2::text::uuid and u.password_hash = $3::text and u.enabled
    and ($10::text is not null or not ${demand})
  for share of u
  returning generation),
  noted as (${insertEntriesSql('$11::text::json', 'started')})
  select generation from started`

const findSql = (
  accepted: string,
) => `select json_build_object('id', f.id, 'username', u.username, 'generation', f.generation,
    'counter', f.counter, 'rotatedAgoMs', ${millisecondsSince('f.rotated_at')},
    'formerRotatedAgoMs', ${millisecondsSince('f.former_rotated_at')}, 'expiresAt', ${milliseconds('f.expires_at')},
    'refreshExpiresAt', ${milliseconds('f.refresh_expires_at')},
    'alive', f.ended_at is null and ${accepted}) as family
  from auth.login_families f join auth.users u on u.id = f.user_id
    join auth.principals p on p.username_folded = f.username_folded
  where f.id = $1::text::uuid`

const repeatSql = (accepted: string) => `with repeated as (update auth.login_families f
  set tokens_expire_at = greatest(f.tokens_expire_at, $4::text::timestamptz)
  from auth.users u, auth.principals p
  where f.id = $1::text::uuid and f.counter = $2::int + 1 and f.ended_at is null
    and ${millisecondsSince('f.rotated_at')} <= $3::int
    and u.id = f.user_id and p.username_folded = f.username_folded and ${accepted}
  returning json_build_object('sealed', f.successor_sealed,
    'proof', json_build_object('at', floor(extract(epoch from f.created_at)), 'factor', f.second_factor),
    'refreshExpiresAt', ${milliseconds('f.refresh_expires_at')}) as repeated),
  noted as (${insertEntriesSql('$5::text::json', 'repeated')})
  select repeated from repeated`

const revokedSql = `select json_build_object('count', count(*),
    'firstExpiry', ${milliseconds('min(e.until)')}) as ended
  from auth.users u join auth.principals p on p.username_folded = u.username_folded
  cross join lateral (
    select f.tokens_expire_at as until from auth.login_families f
    where f.user_id = u.id and f.ended_at is not null and f.tokens_expire_at > $2::text::timestamptz and ${acceptedSql}
      and f.ended_reason <> 'displaced'
    union all
    select s.expires_at from auth.sessions s
    where s.user_id = u.id and s.ended_at is not null and s.expires_at > $2::text::timestamptz
      and s.ended_reason <> 'displaced' and ${acceptedSqlOf('s')}) e
  where u.id = $1::text::uuid`

/** SQLSTATE: the user was deleted while the statement ran. */
export const foreignKeyViolation = '23503'

/** Creates the store over this database. */
export function createRefreshTokenFamilies(
  database: Database,
  secondFactorRoles: readonly Role[] = [],
): RefreshTokenFamilies {
  const demand = secondFactorDemandSql(secondFactorRoles)
  const accepted = `${acceptedSql} and (f.second_factor is not null or not ${demand})`
  return {
    start: (family) => startFamily(database, family, demand),

    async find(id) {
      if (!isUuid(id)) return undefined
      const rows = await database.query<{ family: RefreshTokenFamily }>(findSql(accepted), [id])
      return rows[0]?.family
    },

    rotate: createRotate(database, accepted),

    async repeat(id, { username, counter, withinMs, accessExpiresAt }) {
      const entries = JSON.stringify(refreshEntries({ id, username }))
      const parameters = [id, counter, Math.ceil(withinMs), fromSeconds(accessExpiresAt), entries]
      const rows = await database.write<{ repeated: Repeated }>(repeatSql(accepted), parameters)
      return rows[0]?.repeated
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
  demand: string,
): Promise<{ generation: number } | undefined> {
  const { times } = family
  const { entries, stored } = entriesUnderWay()()
  try {
    const rows = await database.write<{ generation: number }>(startSql(demand), [
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
