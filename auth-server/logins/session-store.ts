/**
 * Sessions in the database, found by the hash of the session key. One conditional statement decides between concurrent
 * callers, and times come from the caller's clock, as for refresh token families.
 */
import { eq, sql } from 'drizzle-orm'
import { type Clock, rfc3339 } from '../../shared/platform/clock.ts'
import { type Database, DatabaseError } from '../../shared/platform/database/database.ts'
import { expiryJob } from '../../shared/platform/database/expiry-job.ts'
import type { HousekeepingJob } from '../../shared/platform/database/housekeeping.ts'
import { build, namesOf, parameters } from '../../shared/platform/database/statement.ts'
import { requirePrimary } from '../../shared/platform/history/history.ts'
import type { KnownSession } from '../../shared/protocol/authentication/session/session-times.ts'
import { entriesUnderWay } from '../audit/change-entries.ts'
import { insertEntriesSql } from '../audit/journal.ts'
import { hasAudienceSqlOf } from '../principals/accepted-logins.ts'
import { instanceIdSql } from '../principals/change-counter.ts'
import { demandSql } from '../principals/demand-sql.ts'
import { tokensAliveSince } from '../principals/principal-record.ts'
import { c, f, p, s, u } from '../store/aliases.ts'
import { deviceRequests } from '../store/client-tables.ts'
import { loginFamilies, principalChangeCounter, principals, sessions, users } from '../store/schema.ts'
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
  /** The audience that it is for; null: that of the pair. */
  readonly audience: string | null
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

/** The store of sessions. */
export type SessionStore = ReturnType<typeof createSessionStore>

/** The public id of a session, and its user. */
export interface SessionOwner {
  readonly id: string
  readonly username: string
}

const started = parameters({
  id: 'uuid',
  keyHash: 'text',
  userId: 'uuid',
  passwordHash: 'text',
  createdAt: 'timestamptz',
  expiresAt: 'timestamptz',
  clientAddress: 'text',
  userAgent: 'text | null',
  factor: 'text | null',
  audience: 'text | null',
  entries: 'json',
})
/** The lock makes a change of the user wait, so that its record has this session too. */
const startSql = started.statement(sql`with started as (
    insert into ${sessions} (${namesOf(sessions, 'id', 'keyHash', 'userId', 'usernameFolded', 'generation')},
      ${namesOf(sessions, 'createdAt', 'lastUsedAt', 'expiresAt', 'clientAddress', 'userAgent', 'secondFactor')},
      ${namesOf(sessions, 'audience')})
    select ${started.id}, ${started.keyHash}, ${u.id}, ${p.usernameFolded}, ${p.generation}, ${started.createdAt},
      ${started.createdAt}, ${started.expiresAt}, ${started.clientAddress}, ${started.userAgent}, ${started.factor},
      ${started.audience}
    from ${users} ${u} join ${principals} ${p} on ${p.usernameFolded} = ${u.usernameFolded} and ${p.userId} = ${u.id}
    where ${u.id} = ${started.userId} and ${u.passwordHash} = ${started.passwordHash} and ${u.enabled}
      and (${started.factor} is not null or not ${demandSql})
    for share of u
    returning ${sessions.usernameFolded}, ${sessions.generation}),
  noted as (${insertEntriesSql(started.entries, sql`started`)})
  select json_build_object('generation', ${s.generation}, 'version', ${p.principalVersion}) as session,
    ${instanceIdSql} as "instanceId"
  from started s join ${principals} ${p} on ${p.usernameFolded} = ${s.usernameFolded}
    cross join ${principalChangeCounter} ${c}`)

const found = parameters({ keyHash: 'text' })
const findSql =
  found.statement(sql`select json_build_object('id', ${s.id}, 'username', ${u.username}, 'userId', ${s.userId},
    'version', ${p.principalVersion}, 'generation', ${s.generation}, 'audience', ${s.audience}, 'lastUsedAt', ${milliseconds(s.lastUsedAt)},
    'expiresAt', ${milliseconds(s.expiresAt)}) as session, ${instanceIdSql} as "instanceId"
  from ${sessions} ${s} join ${users} ${u} on ${u.id} = ${s.userId}
    join ${principals} ${p} on ${p.usernameFolded} = ${s.usernameFolded} and ${p.userId} = ${s.userId}
    cross join ${principalChangeCounter} ${c}
  where ${s.keyHash} = ${found.keyHash} and ${s.endedAt} is null and ${hasAudienceSqlOf(s)}`)

const moved = parameters({ keyHash: 'text', now: 'timestamptz', idleSince: 'timestamptz' })
const moveSql = moved.statement(
  build
    .update(sessions)
    .set({ lastUsedAt: sql`greatest(${sessions.lastUsedAt}, ${moved.now})` })
    .where(sql`${sessions.keyHash} = ${moved.keyHash} and ${sessions.endedAt} is null
      and ${sessions.lastUsedAt} > ${moved.idleSince} and ${sessions.expiresAt} > ${moved.now}`)
    .returning({ moved: sessions.id }),
)

const inherited = parameters({ from: 'uuid', to: 'uuid' })
/**
 * Locks the principal first, as revocations do: logins of a session that ends in between have ended with it. No other
 * statement holds locks of its logins and waits for this session, so the session may come before them.
 */
const inheritSql = inherited.statement(sql`with owner as materialized (
    select ${p.usernameFolded} from ${principals} ${p} where ${p.usernameFolded} =
      (select ${sessions.usernameFolded} from ${sessions} where ${sessions.id} = ${inherited.from}) for no key update
  ),
  session as materialized (
    select ${s.id} from ${sessions} ${s} join owner o on o.username_folded = ${s.usernameFolded}
    where ${s.id} = ${inherited.from} and ${s.endedAt} is null for share of ${s}
  ),
  devices as (update ${deviceRequests} set ${namesOf(deviceRequests, 'sessionId')} = ${inherited.to}
    from session where ${deviceRequests.sessionId} = session.id and ${deviceRequests.state} = 'approved')
  update ${loginFamilies} ${f} set ${namesOf(loginFamilies, 'sessionId')} = ${inherited.to}
  from session where ${f.sessionId} = session.id and ${f.endedAt} is null`)

const ownerSql = found.statement(
  build
    .select({ id: sessions.id, username: users.username })
    .from(sessions)
    .innerJoin(users, eq(users.id, sessions.userId))
    .where(eq(sessions.keyHash, found.keyHash)),
)

/** Creates the store over this database. Every function throws Unavailable when the database does not answer. */
export const createSessionStore = (database: Database) => ({
  /**
   * Starts a session with the user's current generation. Undefined when the user was disabled or deleted, or got
   * another password hash, since the password was checked.
   */
  async start(session: NewSession): Promise<OfInstance<Pick<KnownSession, 'version' | 'generation'>> | undefined> {
    const { entries, stored } = entriesUnderWay()()
    const start = startSql({
      id: session.id,
      keyHash: session.keyHash,
      userId: session.userId,
      passwordHash: session.passwordHash,
      createdAt: rfc3339(session.createdAt),
      expiresAt: rfc3339(session.expiresAt),
      clientAddress: session.clientAddress,
      userAgent: session.userAgent ?? null,
      factor: session.factor,
      audience: session.audience,
      entries,
    })
    try {
      const rows = await database.write<FoundSession<{ version: number; generation: number }>>(...start)
      if (rows.length > 0) stored()
      return ofInstance(rows[0])
    } catch (error) {
      if (error instanceof DatabaseError && error.sqlState === foreignKeyViolation) return undefined
      throw error
    }
  },
  /**
   * The session of this key, unless it is revoked or its resource server is gone. The caller checks whether it has
   * expired.
   */
  async find(keyHash: string): Promise<OfInstance<KnownSession> | undefined> {
    const rows = await database.query<FoundSession<KnownSession>>(...findSql({ keyHash }))
    return ofInstance(rows[0])
  },
  /**
   * Moves the last-action time forward. False when the session is revoked, has expired, or is idle since `idleSince`.
   */
  async move(keyHash: string, { now, idleSince }: { now: number; idleSince: number }): Promise<boolean> {
    const rows = await database.write(...moveSql({ keyHash, now: rfc3339(now), idleSince: rfc3339(idleSince) }))
    return rows.length === 1
  },
  /** What hangs on one session, if it has not ended, hangs on another one from now on: logins and allowed devices. */
  async inherit({ from, to }: { readonly from: string; readonly to: string }): Promise<void> {
    await database.write(...inheritSql({ from, to }))
  },
  /** The session of this key and its user, as long as it is stored, even if it is revoked or expired. */
  async ownerOf(keyHash: string): Promise<SessionOwner | undefined> {
    const rows = await database.query<{ id: string; username: string }>(...ownerSql({ keyHash }))
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

/** Deletes sessions that are older than `SESSION_MAX_TTL`, revoked or not. */
export const createSessionExpiry = (clock: Clock): HousekeepingJob =>
  expiryJob({
    name: 'expired sessions',
    table: sessions,
    expiresAt: sessions.expiresAt,
    expiredBy: () => tokensAliveSince(clock.now()),
  })
