import { and, eq, isNull } from 'drizzle-orm'
import { validate as isUuid } from 'uuid'
import type { Clock } from '../../shared/platform/clock.ts'
import type { Database, Drizzle } from '../../shared/platform/database/database.ts'
import { loginFamilies, sessions } from '../store/schema.ts'
import { type ChangeOutcome, changePrincipal } from '../users/principal-change.ts'
import { type PrincipalPublisher, whenPublished } from '../users/principal-publisher.ts'
import { userRow } from '../users/user-rows.ts'

/** Why a login ended before its time. */
export type EndReason = NonNullable<(typeof loginFamilies.$inferSelect)['endedReason']>

/** Why a session ended before its time. */
export type SessionEndReason = NonNullable<(typeof sessions.$inferSelect)['endedReason']>

/** What ending a login needs. */
export interface EndLoginPorts {
  readonly database: Database
  readonly publisher: Pick<PrincipalPublisher, 'waitUntilPublished'>
  readonly clock: Clock
}

interface Ending<Reason> {
  /** Of the login or session. */
  readonly id: string
  readonly username: string
  readonly reason: Reason
}

/**
 * Ends a login: its refresh tokens at once, its access tokens wherever the principal record is known, which is settled before
 * this resolves. False when it had ended before. @throws Unavailable
 */
export const endLogin = (ports: EndLoginPorts, login: Ending<EndReason>): Promise<boolean> =>
  changeAndPublish(ports, login.username, async (transaction) => {
    const hasEnded = await endFamily(ports, transaction, login)
    return outcomeOf(hasEnded, hasEnded)
  })

/** The same for a cookie session; false when it had ended before. @throws Unavailable */
export const endSession = (ports: EndLoginPorts, session: Ending<SessionEndReason>): Promise<boolean> =>
  changeAndPublish(ports, session.username, async (transaction) => {
    const hasEnded = await endSessionRow(ports, transaction, session)
    return outcomeOf(hasEnded, hasEnded)
  })

/**
 * Ends what a user knows by this id, be it a token login or a session. `dead` when it had ended before, undefined when it is no id of
 * this user's. @throws ProblemError `not-found` when there never was such a user; Unavailable
 */
export function endByPublicId(
  ports: EndLoginPorts,
  ending: Ending<EndReason & SessionEndReason>,
): Promise<'ended' | 'dead' | undefined> {
  const { id, username } = ending
  return changeAndPublish(ports, username, async (transaction, { userId }) => {
    const kind = isUuid(id) ? await kindOf(transaction, { id, userId }) : undefined
    if (kind === undefined) return { result: undefined }
    const hasEnded = await endRows[kind](ports, transaction, ending)
    return outcomeOf(hasEnded ? 'ended' : 'dead', hasEnded)
  })
}

/** Ends every token login and session of a user. @throws ProblemError `not-found`; Unavailable */
export const endAllLoginsOf = (
  ports: EndLoginPorts,
  { username, reason }: Omit<Ending<EndReason & SessionEndReason>, 'id'>,
): Promise<void> =>
  changeAndPublish(ports, username, async (transaction, principal) => {
    const { id: userId } = await userRow(transaction, principal.userId)
    const endedAt = new Date(ports.clock.now())
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

/** Only an end that took place is a change of the principal. */
const outcomeOf = <Result>(result: Result, hasEnded: boolean): ChangeOutcome<Result> => ({
  result,
  ...(hasEnded && { change: {} }),
})

/** Changes the user's principal, and resolves when the change is published. */
const changeAndPublish = <Result>(
  { database, publisher }: EndLoginPorts,
  username: string,
  work: Parameters<typeof changePrincipal<Result>>[2],
): Promise<Result> => whenPublished(publisher, changePrincipal(database, username, work))

async function endFamily(
  { clock }: Pick<EndLoginPorts, 'clock'>,
  transaction: Drizzle,
  { id, reason }: Ending<EndReason>,
): Promise<boolean> {
  const ended = await transaction
    .update(loginFamilies)
    .set({ endedAt: new Date(clock.now()), endedReason: reason, rotatedAt: null, successorSealed: null })
    .where(and(eq(loginFamilies.id, id), isNull(loginFamilies.endedAt)))
    .returning({ id: loginFamilies.id })
  return ended.length > 0
}

async function endSessionRow(
  { clock }: Pick<EndLoginPorts, 'clock'>,
  transaction: Drizzle,
  { id, reason }: Ending<SessionEndReason>,
): Promise<boolean> {
  const ended = await transaction
    .update(sessions)
    .set({ endedAt: new Date(clock.now()), endedReason: reason })
    .where(and(eq(sessions.id, id), isNull(sessions.endedAt)))
    .returning({ id: sessions.id })
  return ended.length > 0
}

/** Ends one row, whatever becomes of the principal's record; false when it had ended before. */
export const endRows = { session: endSessionRow, login: endFamily } as const

async function kindOf(transaction: Drizzle, { id, userId }: { id: string; userId: string }) {
  for (const [kind, table] of [['session', sessions] as const, ['login', loginFamilies] as const]) {
    const condition = and(eq(table.id, id), eq(table.userId, userId))
    const rows = await transaction.select({ id: table.id }).from(table).where(condition)
    if (rows.length > 0) return kind
  }
  return undefined
}
