/**
 * Refresh token families in the database. One conditional statement decides between concurrent callers, so no other
 * statement can come between its read and its write. Times come from the caller's clock; only the window for repeating
 * a refresh goes by PostgreSQL's clock at both ends, since two servers may take part in it.
 */

import { type SQLWrapper, sql } from 'drizzle-orm'
import { validate as isUuid } from 'uuid'
import { type Clock, rfc3339 } from '../../shared/platform/clock.ts'
import { type Database, DatabaseError } from '../../shared/platform/database/database.ts'
import { expiryJob } from '../../shared/platform/database/expiry-job.ts'
import type { HousekeepingJob } from '../../shared/platform/database/housekeeping.ts'
import { namesOf, parameters } from '../../shared/platform/database/statement.ts'
import { entriesUnderWay } from '../audit/change-entries.ts'
import { insertEntriesSql } from '../audit/journal.ts'
import { acceptedFamilySql, acceptedSqlOf, hangsSql } from '../principals/accepted-logins.ts'
import { demandSql } from '../principals/demand-sql.ts'
import { type ReadPrincipal, readPrincipalSql, tokensAliveSince, toPrincipal } from '../principals/principal-record.ts'
import { f, p, s, u } from '../store/aliases.ts'
import { clientIdSql } from '../store/built-in-clients.ts'
import { loginExpiry, loginFamilies, principals, sessions, users } from '../store/schema.ts'
import type { RefreshTokenFamily, TokenTimes } from './refresh-token-family.ts'
import { clientLoginSql, createRotate, proofSql, type Rotated, refreshEntries } from './rotate-families.ts'

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

/** The store of refresh token families. */
export type RefreshTokenFamilies = ReturnType<typeof createRefreshTokenFamilies>

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
const started = parameters({
  id: 'uuid',
  userId: 'uuid',
  passwordHash: 'text',
  issuedAt: 'timestamptz',
  expiresAt: 'timestamptz',
  refreshExpiresAt: 'timestamptz',
  accessExpiresAt: 'timestamptz',
  clientAddress: 'text | null',
  userAgent: 'text | null',
  factor: 'text | null',
  audience: 'text | null',
  entries: 'json',
})
const startSql = started.statement(sql`with started as (insert into ${loginFamilies}
    (${namesOf(loginFamilies, 'id', 'userId', 'usernameFolded', 'generation', 'createdAt', 'lastUsedAt', 'expiresAt')},
    ${namesOf(loginFamilies, 'refreshExpiresAt', 'tokensExpireAt', 'clientAddress', 'userAgent', 'secondFactor', 'audience')})
  select ${started.id}, ${u.id}, ${p.usernameFolded}, ${p.generation}, ${started.issuedAt}, ${started.issuedAt},
    ${started.expiresAt}, ${started.refreshExpiresAt}, ${started.accessExpiresAt}, ${started.clientAddress},
    ${started.userAgent}, ${started.factor}, ${started.audience}
  from ${users} ${u} join ${principals} ${p} on ${p.usernameFolded} = ${u.usernameFolded} and ${p.userId} = ${u.id}
  where ${u.id} = ${started.userId} and ${u.passwordHash} = ${started.passwordHash} and ${u.enabled}
    and (${started.factor} is not null or not ${demandSql})
  for share of u
  returning ${loginFamilies.generation}),
  noted as (${insertEntriesSql(started.entries, sql`started`)})
  select generation from started`)

const found = parameters({ id: 'uuid' })
const findSql =
  found.statement(sql`select json_build_object('id', ${f.id}, 'username', ${u.username}, 'generation', ${f.generation},
    'audience', ${f.audience}, 'clientId', ${clientIdSql(f.clientId)}, 'counter', ${f.counter},
    'granted', case when ${f.scopes} is not null then to_json(${f.scopes} || ${f.rights}) end,
    'rotatedAgoMs', ${millisecondsSince(f.rotatedAt)},
    'formerRotatedAgoMs', ${millisecondsSince(f.formerRotatedAt)}, 'expiresAt', ${milliseconds(f.expiresAt)},
    'refreshExpiresAt', ${milliseconds(f.refreshExpiresAt)},
    'alive', ${f.endedAt} is null and ${acceptedFamilySql}) as family
  from ${loginFamilies} ${f} join ${users} ${u} on ${u.id} = ${f.userId}
    join ${principals} ${p} on ${p.usernameFolded} = ${f.usernameFolded}
  where ${f.id} = ${found.id}`)

const repeated = parameters({
  id: 'uuid',
  counter: 'int',
  withinMs: 'int',
  accessExpiresAt: 'timestamptz',
  entries: 'json',
  aliveSince: 'timestamptz',
})
const repeatSql = repeated.statement(sql`with repeated as (update ${loginFamilies} ${f}
  set ${namesOf(loginFamilies, 'tokensExpireAt')} = greatest(${f.tokensExpireAt}, ${repeated.accessExpiresAt})
  from ${users} ${u}, ${principals} ${p}
  where ${f.id} = ${repeated.id} and ${f.counter} = ${repeated.counter} + 1 and ${f.endedAt} is null
    and ${millisecondsSince(f.rotatedAt)} <= ${repeated.withinMs}
    and ${u.id} = ${f.userId} and ${p.usernameFolded} = ${f.usernameFolded} and ${acceptedFamilySql}
  returning json_build_object('sealed', ${f.successorSealed},
    'proof', ${proofSql}, 'client', ${clientLoginSql},
    'refreshExpiresAt', ${milliseconds(f.refreshExpiresAt)},
    'principal', ${readPrincipalSql(repeated.aliveSince)}) as repeated),
  noted as (${insertEntriesSql(repeated.entries, sql`repeated`)})
  select repeated from repeated`)

/**
 * SQL for the ends, `until`, of what `RevokedIds` counts of user `u` with principal `p`. Displaced logins of clients
 * are among it if `ofClients`.
 */
export const endedSql = (now: SQLWrapper, ofClients: SQLWrapper) => sql`
    select ${f.tokensExpireAt} as until from ${loginFamilies} ${f}
    where ${f.userId} = ${u.id} and ${f.endedAt} is not null and ${f.tokensExpireAt} > ${now} and ${acceptedSqlOf(f)}
      and (${f.endedReason} <> 'displaced' or (${ofClients} and ${f.clientId} is not null))
    union all
    select ${s.expiresAt} from ${sessions} ${s}
    where ${s.userId} = ${u.id} and ${s.endedAt} is not null and ${s.expiresAt} > ${now}
      and ${s.endedReason} <> 'displaced' and ${acceptedSqlOf(s)}
    union all
    select ${f.tokensExpireAt} from ${sessions} ${s} join ${loginFamilies} ${f}
      on ${f.sessionId} = ${s.id} and ${f.endedAt} is null and ${hangsSql}
    where ${s.userId} = ${u.id} and ${s.endedAt} is not null and ${f.tokensExpireAt} > ${now}
      and ${s.endedReason} <> 'displaced' and ${acceptedSqlOf(f)}`

const revoked = parameters({ userId: 'uuid', now: 'timestamptz', ofClients: 'boolean' })
const revokedSql = revoked.statement(sql`select json_build_object('count', count(*),
    'firstExpiry', ${milliseconds(sql`min(e.until)`)}) as ended
  from ${users} ${u} join ${principals} ${p} on ${p.usernameFolded} = ${u.usernameFolded}
  cross join lateral (${endedSql(revoked.now, revoked.ofClients)}) e
  where ${u.id} = ${revoked.userId}`)

/** SQLSTATE: the user was deleted while the statement ran. */
export const foreignKeyViolation = '23503'

/** Creates the store over this database. Every function throws Unavailable when the database does not answer. */
export function createRefreshTokenFamilies(database: Database) {
  return {
    start: (family: NewRefreshTokenFamily) => startFamily(database, family),

    /** The family with this id; undefined when there is none, also for a text that is no UUID. */
    async find(id: string): Promise<RefreshTokenFamily | undefined> {
      if (!isUuid(id)) return undefined
      const rows = await database.query<{ family: RefreshTokenFamily }>(...findSql({ id }))
      return rows[0]?.family
    },

    rotate: createRotate(database),

    /**
     * The unused successor of `counter`, encrypted, if it was made within the last `withinMs`. Undefined when there is
     * none or the family is revoked. Stores the expiry of the new access token. `now` in milliseconds.
     */
    async repeat(
      id: string,
      retry: { username: string; counter: number; withinMs: number; accessExpiresAt: number; now: number },
    ): Promise<Repeated | undefined> {
      const { username, counter, withinMs, accessExpiresAt, now } = retry
      const entries = refreshEntries({ id, username })
      const aliveSince = tokensAliveSince(now)
      const statement = repeatSql({
        id,
        counter,
        withinMs: Math.ceil(withinMs),
        accessExpiresAt: fromSeconds(accessExpiresAt),
        entries,
        aliveSince,
      })
      const [row] = await database.write<{ repeated: RepeatedRow }>(...statement)
      return row && { ...row.repeated, principal: toPrincipal(row.repeated.principal) }
    },

    /**
     * Counts the revoked ids of a user: the revoked logins with unexpired tokens, the sessions revoked before their
     * expiry, if their generation is current, and the logins that hang on these; of displaced ones (`make-room.ts`)
     * those of clients, if `ofClients`. `firstExpiry`: when the first of them can be forgotten, null when there are
     * none. Times in milliseconds.
     */
    async revokedIds(userId: string, { now, ofClients }: { now: number; ofClients: boolean }) {
      const count = revokedSql({ userId, now: rfc3339(now), ofClients })
      const rows = await database.query<{ ended: { count: number; firstExpiry: number | null } }>(...count)
      return rows[0]?.ended ?? { count: 0, firstExpiry: null }
    },
  }
}

/**
 * Starts a family with the user's current generation. Undefined when the user was disabled or deleted, or got another
 * password hash, since the password was checked.
 */
async function startFamily(
  database: Database,
  family: NewRefreshTokenFamily,
): Promise<{ generation: number } | undefined> {
  const { times } = family
  const { entries, stored } = entriesUnderWay()()
  const start = startSql({
    id: family.id,
    userId: family.userId,
    passwordHash: family.passwordHash,
    issuedAt: fromSeconds(times.issuedAt),
    expiresAt: fromSeconds(family.expiresAt),
    refreshExpiresAt: fromSeconds(times.refreshExpiresAt),
    accessExpiresAt: fromSeconds(times.accessExpiresAt),
    clientAddress: family.clientAddress ?? null,
    userAgent: family.userAgent ?? null,
    factor: family.factor,
    audience: family.audience,
    entries,
  })
  try {
    const rows = await database.write<{ generation: number }>(...start)
    if (rows.length > 0) stored()
    return rows[0]
  } catch (error) {
    if (error instanceof DatabaseError && error.sqlState === foreignKeyViolation) return undefined
    throw error
  }
}

const fromSeconds = (seconds: number) => rfc3339(seconds * 1000)

/**
 * Deletes refresh token families whose tokens have all expired: every server, with any clock, refuses them as expired.
 */
export const createLoginExpiry = (clock: Clock): HousekeepingJob =>
  expiryJob({
    name: 'expired logins',
    table: loginFamilies,
    expiresAt: loginExpiry,
    expiredBy: () => tokensAliveSince(clock.now()),
  })
