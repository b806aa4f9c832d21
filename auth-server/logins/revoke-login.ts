import { and, eq, isNull } from 'drizzle-orm'
import { validate as isUuid } from 'uuid'
import type { Clock } from '../../shared/platform/clock.ts'
import type { Database, Drizzle } from '../../shared/platform/database/database.ts'
import { loginFamilies, sessions } from '../store/schema.ts'
import { type ChangeOutcome, changePrincipal } from '../users/principal-change.ts'
import { type PrincipalPublisher, whenPublished } from '../users/principal-publisher.ts'
import { userRow } from '../users/user-rows.ts'

/** The reasons why a login by token is revoked. */
export type RevocationReason = NonNullable<(typeof loginFamilies.$inferSelect)['endedReason']>

/** The reasons why a session is revoked. */
export type SessionRevocationReason = NonNullable<(typeof sessions.$inferSelect)['endedReason']>

/** The systems that a revocation uses. */
export interface RevokeLoginPorts {
  readonly database: Database
  readonly publisher: Pick<PrincipalPublisher, 'waitUntilPublished'>
  readonly clock: Clock
}

interface Revocation<Reason> {
  /** The id of the login or session. */
  readonly id: string
  readonly username: string
  readonly reason: Reason
}

/**
 * Revokes a login by token. Its refresh tokens stop at once. Its access tokens stop where the principal record arrives;
 * the record is published when this resolves. False when the login was revoked before. @throws Unavailable
 */
export const revokeLogin = (ports: RevokeLoginPorts, login: Revocation<RevocationReason>): Promise<boolean> =>
  changeAndPublish(ports, login.username, async (transaction) => {
    const revokedNow = await revokeFamilyRow(ports, transaction, login)
    return outcomeOf(revokedNow, revokedNow)
  })

/** Revokes a session in the same way. False when it was revoked before. @throws Unavailable */
export const revokeSession = (
  ports: RevokeLoginPorts,
  session: Revocation<SessionRevocationReason>,
): Promise<boolean> =>
  changeAndPublish(ports, session.username, async (transaction) => {
    const revokedNow = await revokeSessionRow(ports, transaction, session)
    return outcomeOf(revokedNow, revokedNow)
  })

/**
 * Revokes the login or session with this id. Undefined when this user has no login and no session with this id.
 * @throws ProblemError `not-found` when there never was such a user; Unavailable
 */
export function revokeLoginById(
  ports: RevokeLoginPorts,
  ending: Revocation<RevocationReason & SessionRevocationReason>,
): Promise<'revoked' | 'revoked-before' | undefined> {
  const { id, username } = ending
  return changeAndPublish(ports, username, async (transaction, { userId }) => {
    const kind = isUuid(id) ? await kindOf(transaction, { id, userId }) : undefined
    if (kind === undefined) return { result: undefined }
    const revokedNow = await revokeRow[kind](ports, transaction, ending)
    return outcomeOf(revokedNow ? 'revoked' : 'revoked-before', revokedNow)
  })
}

/** Revokes every login by token and every session of a user. @throws ProblemError `not-found`; Unavailable */
export const revokeAllLogins = (
  ports: RevokeLoginPorts,
  { username, reason }: Omit<Revocation<RevocationReason & SessionRevocationReason>, 'id'>,
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

/** Only a revocation that took place is a change of the principal. */
const outcomeOf = <Result>(result: Result, revokedNow: boolean): ChangeOutcome<Result> => ({
  result,
  ...(revokedNow && { change: {} }),
})

/** Changes the user's principal, and resolves when the change is published. */
const changeAndPublish = <Result>(
  { database, publisher }: RevokeLoginPorts,
  username: string,
  work: Parameters<typeof changePrincipal<Result>>[2],
): Promise<Result> => whenPublished(publisher, changePrincipal(database, username, work))

async function revokeFamilyRow(
  { clock }: Pick<RevokeLoginPorts, 'clock'>,
  transaction: Drizzle,
  { id, reason }: Revocation<RevocationReason>,
): Promise<boolean> {
  const ended = await transaction
    .update(loginFamilies)
    .set({ endedAt: new Date(clock.now()), endedReason: reason, rotatedAt: null, successorSealed: null })
    .where(and(eq(loginFamilies.id, id), isNull(loginFamilies.endedAt)))
    .returning({ id: loginFamilies.id })
  return ended.length > 0
}

async function revokeSessionRow(
  { clock }: Pick<RevokeLoginPorts, 'clock'>,
  transaction: Drizzle,
  { id, reason }: Revocation<SessionRevocationReason>,
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

async function kindOf(transaction: Drizzle, { id, userId }: { id: string; userId: string }) {
  for (const [kind, table] of [['session', sessions] as const, ['login', loginFamilies] as const]) {
    const condition = and(eq(table.id, id), eq(table.userId, userId))
    const rows = await transaction.select({ id: table.id }).from(table).where(condition)
    if (rows.length > 0) return kind
  }
  return undefined
}
