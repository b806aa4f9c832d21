/**
 * Cookie sessions in the database. Whoever holds a key proves it by its hash. As with families, what decides between callers that race is
 * one conditional statement, and times come from the caller's clock.
 */
import { type Database, DatabaseError } from '../../shared/platform/database/database.ts'
import type { KnownSession } from '../../shared/protocol/authentication/session/session-times.ts'
import { foreignKeyViolation, milliseconds } from './refresh-token-families.ts'

/** What a session starts with. Times in milliseconds. */
export interface NewSession {
  readonly id: string
  readonly keyHash: string
  readonly userId: string
  /** The hash the password was proved against; another one means the proof is void. */
  readonly passwordHash: string
  readonly createdAt: number
  readonly expiresAt: number
  readonly clientAddress: string
  readonly userAgent: string | undefined
}

/** The store of sessions. Everything throws Unavailable when the database does not answer. */
export interface SessionStore {
  /**
   * Starts a session under the user's present generation. Undefined when the user was disabled or deleted, or has got another
   * password hash, since the password was proved.
   */
  start(session: NewSession): Promise<Pick<KnownSession, 'version' | 'generation'> | undefined>
  /** The session of this key unless it was ended; whether its time is over is for the caller to say. */
  find(keyHash: string): Promise<KnownSession | undefined>
  /** Moves the last-action time forward; false when the session has ended or was idle since `idleSince`. */
  move(keyHash: string, times: { readonly now: number; readonly idleSince: number }): Promise<boolean>
  /** Whose session has this key, however dead, while it is remembered. */
  ownerOf(keyHash: string): Promise<SessionOwner | undefined>
}

/** A session by its public id. */
export interface SessionOwner {
  readonly id: string
  readonly username: string
}

const startSql = `with started as (
    insert into auth.sessions (id, key_hash, user_id, username_folded, generation, created_at, last_used_at,
      expires_at, client_address, user_agent)
    select $1::text::uuid, $2::text, u.id, p.username_folded, p.generation, $5::text::timestamptz,
      $5::text::timestamptz, $6::text::timestamptz, $7::text, $8::text
    from auth.users u join auth.principals p on p.username_folded = u.username_folded and p.user_id = u.id
    where u.id = $3::text::uuid and u.password_hash = $4::text and u.enabled
    returning username_folded, generation)
  select json_build_object('generation', s.generation, 'version', p.change_number) as session
  from started s join auth.principals p on p.username_folded = s.username_folded`

const findSql = `select json_build_object('id', s.id, 'username', u.username, 'userId', s.user_id,
    'version', p.change_number, 'generation', s.generation, 'lastUsedAt', ${milliseconds('s.last_used_at')},
    'expiresAt', ${milliseconds('s.expires_at')}) as session
  from auth.sessions s join auth.users u on u.id = s.user_id
    join auth.principals p on p.username_folded = s.username_folded and p.user_id = s.user_id
  where s.key_hash = $1 and s.ended_at is null`

const moveSql = `update auth.sessions set last_used_at = greatest(last_used_at, $2::text::timestamptz)
  where key_hash = $1 and ended_at is null and last_used_at > $3::text::timestamptz
    and expires_at > $2::text::timestamptz
  returning 1 as moved`

const ownerSql = `select s.id::text as id, u.username from auth.sessions s join auth.users u on u.id = s.user_id
  where s.key_hash = $1`

/** The store over this database. */
export const createSessionStore = (database: Pick<Database, 'query'>): SessionStore => ({
  async start(session) {
    try {
      const rows = await database.query<{ session: { version: number; generation: number } }>(startSql, [
        session.id,
        session.keyHash,
        session.userId,
        session.passwordHash,
        timestamp(session.createdAt),
        timestamp(session.expiresAt),
        session.clientAddress,
        session.userAgent ?? null,
      ])
      return rows[0]?.session
    } catch (error) {
      if (error instanceof DatabaseError && error.sqlState === foreignKeyViolation) return undefined
      throw error
    }
  },
  async find(keyHash) {
    const rows = await database.query<{ session: KnownSession }>(findSql, [keyHash])
    return rows[0]?.session
  },
  async move(keyHash, { now, idleSince }) {
    const rows = await database.query(moveSql, [keyHash, timestamp(now), timestamp(idleSince)])
    return rows.length === 1
  },
  async ownerOf(keyHash) {
    const rows = await database.query<{ id: string; username: string }>(ownerSql, [keyHash])
    return rows[0]
  },
})

const timestamp = (ms: number) => new Date(ms).toISOString()
