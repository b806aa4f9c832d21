/**
 * Adds and removes factors. The first factor of a user ends every other login and token of that user, and the last
 * factor that goes takes the recovery codes with it. Both change the principal record.
 */
import { and, eq } from 'drizzle-orm'
import type { Drizzle } from '../../shared/platform/database/database.ts'
import { ProblemError } from '../../shared/platform/problems/errors.ts'
import { differenceOf } from '../../shared/protocol/entry-changes.ts'
import { type Changed, changePrincipal, isLoginCurrent, type LoginGeneration } from '../principals/principal-change.ts'
import { loginFamilies, sessions } from '../store/schema.ts'
import { recoveryCodes, secondFactorFailures, secondFactors } from '../store/second-factor-tables.ts'
import type { AuthSystems } from '../systems/auth-systems.ts'
import { type Grantor, requireMayAccess } from '../users/granting-rights.ts'
import { noSuchUser, userRow } from '../users/user-rows.ts'

/** How many factors a user may have. */
export const maxFactors = 20

/** The user whose factors change, and the login that stays. */
export interface FactorOwner {
  readonly userId: string
  readonly username: string
  /** The login or session of the request: it counts as one with a factor from now on. Null: all end. */
  readonly login: LoginGeneration | null
}

/** A new factor with what is stored of it. */
export type NewFactor = typeof secondFactors.$inferInsert

/**
 * Stores a factor that was proved. One-time codes replace those before. `method` is the RFC 8176 value of the proof;
 * `onlyFirst`: not if the user has set up a factor since.
 * @throws ProblemError `not-found`, `too-many-second-factors`, `second-factor-not-confirmed`
 */
export function addFactor(
  { database }: AuthSystems,
  owner: FactorOwner,
  { factor, method, onlyFirst = false }: { factor: NewFactor; method: string; onlyFirst?: boolean },
): Promise<Changed<'added'>> {
  return changePrincipal(database, owner.username, async (transaction, principal) => {
    if (principal.userId !== owner.userId) throw noSuchUser()
    await userRow(transaction, owner.userId)
    const ofUser = eq(secondFactors.userId, owner.userId)
    const before = await transaction.$count(secondFactors, ofUser)
    if (onlyFirst && before > 0) throw notConfirmed('This user has already set up a second factor.')
    if (before >= maxFactors) {
      throw new ProblemError('too-many-second-factors', `A user may have ${maxFactors} second factors.`)
    }
    if (factor.kind === 'totp')
      await transaction.delete(secondFactors).where(and(ofUser, eq(secondFactors.kind, 'totp')))
    const added = await transaction.insert(secondFactors).values(factor).onConflictDoNothing().returning()
    if (added.length === 0) throw notConfirmed('This passkey is set up already.')
    const { username: target } = owner
    const changes = differenceOf({}, { kind: factor.kind, name: factor.name })
    const entries = [{ action: 'second-factor.added', actor: target, target, changes }]
    if (before > 0) return { result: 'added', entries }
    const keptLogin = owner.login && isLoginCurrent(principal, owner.login) ? owner.login : null
    if (keptLogin) await markLogin(transaction, owner.userId, { id: keptLogin.id, method })
    return { result: 'added', change: { raiseGeneration: { keptLogin } }, entries }
  })
}

/** The refusal of a set-up that was not proved. */
export const notConfirmed = (detail: string) => new ProblemError('second-factor-not-confirmed', detail)

async function markLogin(transaction: Drizzle, userId: string, { id, method }: { id: string; method: string }) {
  const secondFactor = method
  await transaction
    .update(loginFamilies)
    .set({ secondFactor })
    .where(and(eq(loginFamilies.id, id), eq(loginFamilies.userId, userId)))
  await transaction
    .update(sessions)
    .set({ secondFactor })
    .where(and(eq(sessions.id, id), eq(sessions.userId, userId)))
}

/** Removes one factor. @throws ProblemError `not-found` */
export function removeFactor(
  { database }: AuthSystems,
  { userId, username }: Omit<FactorOwner, 'login'>,
  id: string,
): Promise<Changed<'removed'>> {
  return changePrincipal(database, username, async (transaction, principal) => {
    if (principal.userId !== userId) throw noSuchUser()
    const [gone] = await transaction
      .delete(secondFactors)
      .where(and(eq(secondFactors.id, id), eq(secondFactors.userId, userId)))
      .returning({ kind: secondFactors.kind, name: secondFactors.name })
    if (!gone) throw new ProblemError('not-found', 'You have no such second factor.')
    const differences = differenceOf(gone, {})
    const left = await transaction.$count(secondFactors, eq(secondFactors.userId, userId))
    if (left > 0) return { result: 'removed', differences }
    await forget(transaction, userId)
    return { result: 'removed', change: {}, differences }
  })
}

/**
 * Removes every factor of a user and ends the logins, for a user who lost the factor. Without `grantor` the server
 * itself does it. @throws ProblemError `not-found`, `missing-right` when the user has a right that `grantor` lacks
 */
export function resetFactors(
  { database }: AuthSystems,
  username: string,
  grantor: Grantor | undefined,
): Promise<Changed<'reset'>> {
  return changePrincipal(database, username, async (transaction, { userId }) => {
    const before = await userRow(transaction, userId)
    await deleteFactors(transaction, userId)
    const verify = (source: Drizzle) => requireMayAccess(source, grantor, before)
    return { result: 'reset', change: { raiseGeneration: { keptLogin: null }, verify } }
  })
}

/** Deletes the factors of a user, in a transaction that changes the principal. */
export async function deleteFactors(transaction: Drizzle, userId: string): Promise<void> {
  await transaction.delete(secondFactors).where(eq(secondFactors.userId, userId))
  await forget(transaction, userId)
}

async function forget(transaction: Drizzle, userId: string): Promise<void> {
  await transaction.delete(recoveryCodes).where(eq(recoveryCodes.userId, userId))
  await transaction.delete(secondFactorFailures).where(eq(secondFactorFailures.userId, userId))
}

/** Replaces the recovery codes of a user by these. @throws ProblemError `second-factor-missing` without a factor */
export function replaceRecoveryCodes(
  { database }: AuthSystems,
  { userId, username }: Omit<FactorOwner, 'login'>,
  codeHashes: readonly string[],
): Promise<Changed<'replaced'>> {
  return changePrincipal(database, username, async (transaction, principal) => {
    if (principal.userId !== userId) throw noSuchUser()
    if ((await transaction.$count(secondFactors, eq(secondFactors.userId, userId))) === 0) {
      throw new ProblemError('second-factor-missing', 'Recovery codes stand in for a second factor: set one up first.')
    }
    await transaction.delete(recoveryCodes).where(eq(recoveryCodes.userId, userId))
    await transaction.insert(recoveryCodes).values(codeHashes.map((codeHash) => ({ userId, codeHash })))
    return { result: 'replaced' }
  })
}
