/**
 * How a principal changes: everything that alters what its record says (rights, roles, enabled, deletion, creation, a new password,
 * logout everywhere, the end of a login) goes through here, so that no change can miss its number. Announcing it is the
 * publisher's matter, and calls to other systems never happen inside.
 */
import { eq, sql } from 'drizzle-orm'
import type { Database, Drizzle } from '../../shared/platform/database/database.ts'
import { Refused } from '../../shared/platform/problems/errors.ts'
import { foldUsername } from '../../shared/protocol/principal/record.ts'
import { principalChangeCounter, principals } from '../store/schema.ts'
import { noCounter } from './change-counter.ts'
import { isUsername } from './user.ts'

/** A row of `principals`, locked until the transaction ends. */
export type LockedPrincipal = typeof principals.$inferSelect

/** A login or session together with the generation its credentials carry. */
export interface LoginGeneration {
  readonly id: string
  readonly generation: number
}

/** What a change does to the principal's own row, beside its number. */
export interface PrincipalChange {
  /** Ends everything that carries the present generation; but `keptLogin` survives with its own. */
  readonly raiseGeneration?: { readonly keptLogin: LoginGeneration | null }
  /**
   * Runs after the number was taken, when every other change has committed or is waiting: a rule over several users can be
   * decided here without a race. Throws to undo everything.
   */
  readonly verify?: (transaction: Drizzle) => Promise<void>
}

/** What the work of a change ends in; without `change` nothing has changed, and no number is taken. */
export interface ChangeOutcome<Result> {
  readonly result: Result
  readonly change?: PrincipalChange
}

/** The result, with the number that a flush of the publisher must cover before the caller may be answered. */
export interface Changed<Result> {
  readonly result: Result
  readonly changeNumber: number
}

/**
 * Changes one principal in one transaction: locks its row, runs `work`, and as the last step numbers the change. When nothing
 * changed, the number is that of the latest change, whose announcement may still be under way.
 *
 * @throws Refused `not-found` when there never was a user of this name, and whatever `work` throws
 */
export function changePrincipal<Result>(
  database: Database,
  username: string,
  work: (transaction: Drizzle, principal: LockedPrincipal) => Promise<ChangeOutcome<Result>>,
): Promise<Changed<Result>> {
  return database.transaction(async (transaction) => {
    const [principal] = await transaction
      .select()
      .from(principals)
      .where(isUsername(username) ? eq(principals.usernameFolded, foldUsername(username)) : sql`false`)
      .for('no key update')
    if (!principal) throw new Refused('not-found', 'there is no such user')
    const { result, change } = await work(transaction, principal)
    if (!change) return { result, changeNumber: principal.changeNumber }
    return { result, changeNumber: await numberChange(transaction, principal.usernameFolded, change) }
  })
}

/**
 * Takes the next change number and writes it, and what else `change` says, on the principal's row. Must be the last step of a
 * transaction that holds that row's lock: from here on every other change waits.
 */
export async function numberChange(
  transaction: Drizzle,
  usernameFolded: string,
  change: PrincipalChange,
): Promise<number> {
  const [counter] = await transaction
    .update(principalChangeCounter)
    .set({ value: sql`${principalChangeCounter.value} + 1` })
    .returning({ value: principalChangeCounter.value })
  if (!counter) throw new Error(noCounter)
  const raise = change.raiseGeneration
  await transaction
    .update(principals)
    .set({
      changeNumber: counter.value,
      ...(raise && {
        generation: sql`${principals.generation} + 1`,
        keptLoginId: raise.keptLogin?.id ?? null,
        keptLoginGeneration: raise.keptLogin?.generation ?? null,
      }),
    })
    .where(eq(principals.usernameFolded, usernameFolded))
  await change.verify?.(transaction)
  return counter.value
}

/** True when what carries this login's generation is still accepted. */
export const isCurrent = (principal: LockedPrincipal, login: LoginGeneration): boolean =>
  login.generation === principal.generation ||
  (login.id === principal.keptLoginId && login.generation === principal.keptLoginGeneration)
