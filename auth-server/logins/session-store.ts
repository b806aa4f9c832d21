/**
 * Sessions in the database, found by the hash of the session key. One conditional statement decides between concurrent
 * callers, and times come from the caller's clock, as for refresh token families.
 */
import { type Database, DatabaseError } from '../../shared/platform/database/database.ts'
import { requirePrimary } from '../../shared/platform/history/history.ts'
import type { KnownSession } from '../../shared/protocol/authentication/session/session-times.ts'
import { entriesUnderWay } from '../audit/change-entries.ts'
import { insertEntriesSql } from '../audit/journal.ts'
import { instanceIdSql } from '../users/change-counter.ts'
import type { Role } from '../users/rights.ts'
import { secondFactorDemandSql } from '../users/second-factor-demand.ts'
import { foreignKeyViolation, milliseconds } from './refresh-token-families.ts'

/** A new session. Times in milliseconds. */
export interface NewSession {
  readonly id: string
  readonly keyHash: string
  readonly userId: string
  /** The hash that the password was checked against. If another one is stored now, the check is void. */
  readonly passwordHash: string
  /** The RFC 8176 value of the second factor; null for a login without one. */
  readonly factor: string | null
  readonly createdAt: number
  readonly expiresAt: number
  readonly clientAddress: string
  readonly userAgent: string | undefined
}

/** A session, and the instance that it was read from: in another one it may not exist. */
export interface OfInstance<Session> {
  readonly instanceId: string
  readonly session: Session
}

/** The store of sessions. Every method throws Unavailable when the database does not answer. */
export interface SessionStore {
  /**
   * Starts a session with the user's current generation. Undefined when the user was disabled or deleted, or got
   * another password hash, since the password was checked.
   */
  start(session: NewSession): Promise<OfInstance<Pick<KnownSession, 'version' | 'generation'>> | undefined>
  /** The session of this key, unless it is revoked. The caller checks whether it has expired. */
  find(keyHash: string): Promise<OfInstance<KnownSession> | undefined>
  /**
   * Moves the last-action time forward. False when the session is revoked, has expired, or is idle since `idleSince`.
   */
  move(keyHash: string, times: { readonly now: number; readonly idleSince: number }): Promise<boolean>
  /** The session of this key and its user, as long as it is stored, even if it is revoked or expired. */
  ownerOf(keyHash: string): Promise<SessionOwner | undefined>
}

/** The public id of a session, and its user. */
export interface SessionOwner {
  readonly id: string
  readonly username: string
}

/** The lock makes a change of the user wait, so that its record has this session too. */
const startSql = (demand: string) => `with started as (
    insert into auth.sessions (id, key_hash, user_id, username_folded, generation, created_at, last_used_at,
      expires_at, client_address, user_agent, second_factor)
    select $1::text::uuid, $2::text, u.id, p.username_folded, p.generation, $5::text::timestamptz,
      $5::text::timestamptz, $6::text::timestamptz, $7::text, $8::text, $9::text
    from auth.users u join auth.principals p on p.username_folded = u.username_folded and p.user_id = u.id
    where u.id = $3::text::uuid and u.password_hash = $4::text and u.enabled
      and ($9::text is not null or not ${demand})
    for share of u
    returning username_folded, generation),
  noted as (${insertEntriesSql('$10::text::json', 'started')})
  select json_build_object('generation', s.generation, 'version', p.change_number) as session,
    ${instanceIdSql} as "instanceId"
  from started s join auth.principals p on p.username_folded = s.username_folded
    cross join auth.principal_change_counter c`

const findSql = `select json_build_object('id', s.id, 'username', u.username, 'userId', s.user_id,
    'version', p.change_number, 'generation', s.generation, 'lastUsedAt', ${milliseconds('s.last_used_at')},
    'expiresAt', ${milliseconds('s.expires_at')}) as session, ${instanceIdSql} as "instanceId"
  from auth.sessions s join auth.users u on u.id = s.user_id
    join auth.principals p on p.username_folded = s.username_folded and p.user_id = s.user_id
    cross join auth.principal_change_counter c
  where s.key_hash = $1 and s.ended_at is null`

const moveSql = `update auth.sessions set last_used_at = greatest(last_used_at, $2::text::timestamptz)
  where key_hash = $1 and ended_at is null and last_used_at > $3::text::timestamptz
    and expires_at > $2::text::timestamptz
  returning 1 as moved`

const ownerSql = `select s.id::text as id, u.username from auth.sessions s join auth.users u on u.id = s.user_id
  where s.key_hash = $1`

/** Creates the store over this database. */
export const createSessionStore = (
  database: Pick<Database, 'query' | 'write'>,
  secondFactorRoles: readonly Role[] = [],
): SessionStore => ({
  async start(session) {
    const { entries, stored } = entriesUnderWay()()
    try {
      const rows = await database.write<FoundSession<{ version: number; generation: number }>>(
        startSql(secondFactorDemandSql(secondFactorRoles)),
        [
          session.id,
          session.keyHash,
          session.userId,
          session.passwordHash,
          timestamp(session.createdAt),
          timestamp(session.expiresAt),
          session.clientAddress,
          session.userAgent ?? null,
          session.factor,
          JSON.stringify(entries),
        ],
      )
      if (rows.length > 0) stored()
      return ofInstance(rows[0])
    } catch (error) {
      if (error instanceof DatabaseError && error.sqlState === foreignKeyViolation) return undefined
      throw error
    }
  },
  async find(keyHash) {
    const rows = await database.query<FoundSession<KnownSession>>(findSql, [keyHash])
    return ofInstance(rows[0])
  },
  async move(keyHash, { now, idleSince }) {
    const rows = await database.write(moveSql, [keyHash, timestamp(now), timestamp(idleSince)])
    return rows.length === 1
  },
  async ownerOf(keyHash) {
    const rows = await database.query<{ id: string; username: string }>(ownerSql, [keyHash])
    return rows[0]
  },
})

interface FoundSession<Session> {
  readonly session: Session
  /** Null on a standby. */
  readonly instanceId: string | null
}

const ofInstance = <Session>(found: FoundSession<Session> | undefined): OfInstance<Session> | undefined =>
  found && { session: found.session, instanceId: requirePrimary(found.instanceId) }

const timestamp = (ms: number) => new Date(ms).toISOString()
