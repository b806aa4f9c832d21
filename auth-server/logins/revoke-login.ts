import { and, eq, isNull, type SQL, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/pg-core'
import { validate as isUuid } from 'uuid'
import type { Drizzle } from '../../shared/platform/database/database.ts'
import { gatherStatements } from '../../shared/platform/database/gather-statements.ts'
import { namesOf, parameters } from '../../shared/platform/database/statement.ts'
import { foldUsername, isUsername } from '../../shared/protocol/principal/record.ts'
import { entriesUnderWay } from '../audit/change-entries.ts'
import { insertEntriesSql, type Pending } from '../audit/journal.ts'
import { type ChangeOutcome, changePrincipal } from '../principals/principal-change.ts'
import { whenPublished } from '../principals/principal-publisher.ts'
import { f, p, s } from '../store/aliases.ts'
import { loginFamilies, principalChangeCounter, principals, sessions } from '../store/schema.ts'
import type { AuthSystems } from '../systems/auth-systems.ts'
import { noSuchUser, userRow } from '../users/user-rows.ts'

/** The reasons why a login by token is revoked. */
export type RevocationReason = NonNullable<(typeof loginFamilies.$inferSelect)['endedReason']>

/** The reasons why a session is revoked. */
export type SessionRevocationReason = NonNullable<(typeof sessions.$inferSelect)['endedReason']>

/** A login by token or a session that is to be revoked. */
export interface Revocation {
  /** The id of the login or session. */
  readonly id: string
  readonly username: string
  readonly reason: RevocationReason | SessionRevocationReason
}

/** Undefined: this user has no login and no session with this id. */
export type RevocationOutcome = 'revoked' | 'revoked-before' | undefined

/**
 * Revokes a login by token or a session. Refresh tokens and the session stop at once. Access tokens stop where the
 * principal record arrives; the record is published when this resolves.
 * @throws ProblemError `not-found` when there never was such a user; Unavailable
 */
export type RevokeLogin = (revocation: Revocation) => Promise<RevocationOutcome>

/**
 * Creates the revocation. The revocations of concurrent callers share a statement: each takes the one row that counts
 * the changes of principals, which other changes wait for.
 */
export function createRevokeLogin({ database, publisher, clock }: AuthSystems): RevokeLogin {
  const revoke = gatherStatements<Revocation & { at: Date; entries: readonly Pending[] }, RevokedRow>({
    key: ({ id }) => id.toLowerCase(),
    run: async (revocations) => {
      const input = revocations.map(({ id, username, reason, at, entries }, ordinal) => ({
        ordinal,
        reason,
        at,
        entries,
        id: isUuid(id) ? id : null,
        // A text that is no user name is no user's.
        username: isUsername(username) ? foldUsername(username) : null,
      }))
      const rows = await database.write<RevokedRow>(...revokeSql({ input }))
      return rows.toSorted((one, other) => one.ordinal - other.ordinal)
    },
  })
  return async function revokeLogin(revocation) {
    const { username: actor, id: target, reason } = revocation
    const { entries } = entriesUnderWay()([{ action: 'login.ended', actor, target, outcome: outcomes[reason] }])
    const asked = { ...revocation, at: new Date(clock.now()), entries }
    const { version, is_found: isFound, is_ended: isEnded } = await revoke(asked)
    if (version === null) throw noSuchUser()
    const change = { username: foldUsername(actor), version: Number(version) }
    await publisher.waitUntilPublished(change.version, [change])
    if (!isFound) return undefined
    return isEnded ? 'revoked' : 'revoked-before'
  }
}

/** The outcomes in the audit log. */
const outcomes = {
  logout: 'succeeded',
  administrator: 'succeeded',
  reuse: 'refresh-token-reused',
  replaced: 'replaced',
  displaced: 'displaced',
  'code-reuse': 'code-reused',
  'consent-withdrawn': 'consent-withdrawn',
  'session-ended': 'session-ended',
} as const satisfies Record<Revocation['reason'], string>

interface RevokedRow {
  readonly ordinal: number
  /** The version of the principal now; null when there is none of this name. */
  readonly version: string | null
  readonly is_found: boolean
  readonly is_ended: boolean
}

type Logins = typeof loginFamilies | typeof sessions
type LoginsAlias = typeof f | typeof s

/** A locked or ended row of either table. */
const r = alias(loginFamilies, 'r')
const [o, v, c, n] = [alias(principals, 'o'), alias(principals, 'v'), alias(principals, 'c'), alias(principals, 'n')]
const counter = alias(principalChangeCounter, 'counter')

const isOfInput = sql`${r.id} = i.id and ${r.usernameFolded} = i.username`
const endedInput = sql`input i join ended r on ${isOfInput}`
const unrotated = sql`,
    ${namesOf(loginFamilies, 'rotatedAt')} = null, ${namesOf(loginFamilies, 'successorSealed')} = null`

/** The locked rows of `table` that the input names and that belong to the users of `owner`. */
const lockedRows = (table: Logins, l: LoginsAlias) => sql`select ${l.id}, ${l.usernameFolded}
    from ${table} ${l} join owner o on ${o.usernameFolded} = ${l.usernameFolded} and ${o.userId} = ${l.userId}
    where ${l.id} = any(array(select id from input)) order by ${l.id} for no key update of ${l}`

/** Ends those of them that have not ended. */
const endedRows = (table: Logins, l: LoginsAlias, { locked, also = sql`` }: { locked: SQL; also?: SQL }) => sql`
    update ${table} ${l} set ${namesOf(table, 'endedAt')} = i.at, ${namesOf(table, 'endedReason')} = i.reason${also}
    from input i join ${locked} r on ${r.id} = i.id and ${r.usernameFolded} = i.username
    where ${l.id} = ${r.id} and ${l.endedAt} is null
    returning ${l.id}, ${l.usernameFolded}`

const revoked = parameters({ input: 'json' })
/**
 * `input`: `[{ordinal, id, username, reason, at, entries}]`. Locks principals, then logins, then sessions, each in the
 * order of their ids, and takes one version for each principal with a login that ends, as the last step.
 */
const revokeSql = revoked.statement(sql`with input as materialized (
    select * from json_to_recordset(${revoked.input}) as
      i(ordinal int, id uuid, username text, reason text, at timestamptz, entries json)
  ),
  owner as materialized (
    select ${p.usernameFolded}, ${p.userId}, ${p.principalVersion} from ${principals} ${p}
    where ${p.usernameFolded} = any(array(select username from input)) order by ${p.usernameFolded} for no key update
  ),
  login as materialized (${lockedRows(loginFamilies, f)}),
  session as materialized (${lockedRows(sessions, s)}),
  ended_login as (
    ${endedRows(loginFamilies, f, { locked: sql`login`, also: unrotated })}
  ),
  ended_session as (${endedRows(sessions, s, { locked: sql`session` })}),
  ended as materialized (table ended_login union all table ended_session),
  noted as (${insertEntriesSql(sql`i.entries`, endedInput)}),
  changed as materialized (select distinct ${f.usernameFolded} from ended f),
  counter as (
    update ${principalChangeCounter}
    set ${namesOf(principalChangeCounter, 'value')} = ${principalChangeCounter.value} + (select count(*) from changed)
    where exists (select from changed) returning ${principalChangeCounter.value}
  ),
  versioned as (
    update ${principals} ${p} set ${namesOf(principals, 'principalVersion')} = n.version
    from (
      select ${c.usernameFolded}, ${counter.value} - count(*) over () + row_number() over () as version
      from changed c, counter
    ) n
    where ${p.usernameFolded} = ${n.usernameFolded}
    returning ${p.usernameFolded}, ${p.principalVersion}
  )
  select i.ordinal, coalesce(${v.principalVersion}, ${o.principalVersion})::text as version,
    exists (select from login r where ${isOfInput})
      or exists (select from session r where ${isOfInput}) as is_found,
    exists (select from ended r where ${isOfInput}) as is_ended
  from input i left join owner o on ${o.usernameFolded} = i.username
    left join versioned v on ${v.usernameFolded} = i.username`)

/** Revokes every login by token and every session of a user. @throws ProblemError `not-found`; Unavailable */
export const revokeAllLogins = (
  systems: AuthSystems,
  { username, reason }: { readonly username: string; readonly reason: RevocationReason & SessionRevocationReason },
): Promise<void> =>
  changeAndPublish(systems, username, async (transaction, principal) => {
    const { id: userId } = await userRow(transaction, principal.userId)
    const endedAt = new Date(systems.clock.now())
    const refreshTokenFamilies = await transaction
      .update(loginFamilies)
      .set({ endedAt, endedReason: reason, rotatedAt: null, successorSealed: null })
      .where(and(eq(loginFamilies.userId, userId), isNull(loginFamilies.endedAt)))
      .returning({ id: loginFamilies.id })
    const ended = await transaction
      .update(sessions)
      .set({ endedAt, endedReason: reason })
      .where(and(eq(sessions.userId, userId), isNull(sessions.endedAt)))
      .returning({ id: sessions.id })
    return outcomeOf(undefined, refreshTokenFamilies.length + ended.length > 0)
  })

/** Only a revocation that took place is a change of the principal. */
const outcomeOf = <Result>(result: Result, revokedNow: boolean): ChangeOutcome<Result> => ({
  result,
  ...(revokedNow && { change: {} }),
})

/** Changes the user's principal, and resolves when the change is published. */
const changeAndPublish = <Result>(
  { database, publisher }: AuthSystems,
  username: string,
  work: Parameters<typeof changePrincipal<Result>>[2],
): Promise<Result> => whenPublished(publisher, changePrincipal(database, username, work))

interface RowEnding<Reason> {
  readonly id: string
  readonly reason: Reason
}

async function revokeFamilyRow(
  { clock }: AuthSystems,
  transaction: Drizzle,
  { id, reason }: RowEnding<RevocationReason>,
): Promise<boolean> {
  const ended = await transaction
    .update(loginFamilies)
    .set({ endedAt: new Date(clock.now()), endedReason: reason, rotatedAt: null, successorSealed: null })
    .where(and(eq(loginFamilies.id, id), isNull(loginFamilies.endedAt)))
    .returning({ id: loginFamilies.id })
  return ended.length > 0
}

async function revokeSessionRow(
  { clock }: AuthSystems,
  transaction: Drizzle,
  { id, reason }: RowEnding<SessionRevocationReason>,
): Promise<boolean> {
  const ended = await transaction
    .update(sessions)
    .set({ endedAt: new Date(clock.now()), endedReason: reason })
    .where(and(eq(sessions.id, id), isNull(sessions.endedAt)))
    .returning({ id: sessions.id })
  return ended.length > 0
}

/** Revokes one row and does not change the principal. False when it was revoked before. */
export const revokeRow = { session: revokeSessionRow, login: revokeFamilyRow } as const
