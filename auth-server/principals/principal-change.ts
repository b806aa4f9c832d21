/**
 * The one door for a change of a principal (docs/revocation.md#writing-a-change). Everything that alters a principal
 * record (rights, roles, enabled, deletion, creation, a new password, logout everywhere, the revocation of a login)
 * goes through here, so that every change gets its version. The publisher announces the change. No other system is
 * called inside the transaction.
 */
import { eq, sql } from 'drizzle-orm'
import type { Database, Drizzle } from '../../shared/platform/database/database.ts'
import { ProblemError } from '../../shared/platform/problems/errors.ts'
import type { ChangeEntry, EntryChange } from '../../shared/protocol/entry-changes.ts'
import type { Changes } from '../../shared/protocol/principal/change-feed.ts'
import { foldUsername, isUsername } from '../../shared/protocol/principal/record.ts'
import { entriesUnderWay, insertEntries } from '../audit/change-entries.ts'
import { principalChangeCounter, principals } from '../store/schema.ts'
import { noCounter } from './change-counter.ts'

/** A row of `principals`, locked until the transaction ends. */
export type LockedPrincipal = typeof principals.$inferSelect

/** A login or session together with the generation its credentials carry. */
export interface LoginGeneration {
  readonly id: string
  readonly generation: number
}

/** How a change alters the principal's own row, beside its version. */
export interface PrincipalChange {
  /** Revokes everything that carries the present generation, except `keptLogin`. */
  readonly raiseGeneration?: { readonly keptLogin: LoginGeneration | null }
  /** Failed attempts of the account count from zero, on every server. */
  readonly endsLock?: boolean
  /**
   * Runs after the version was taken, when every other change has committed or waits. Rules over several users are
   * checked here without a race. Throws to undo the change.
   */
  readonly verify?: (transaction: Drizzle) => Promise<void>
  /** Runs last. Gives further records the versions after `taken`, and resolves to these changes in their order. */
  readonly renew?: (transaction: Drizzle, taken: number) => Promise<Changes>
}

/** The outcome of the work; without `change` nothing changed, and no version is taken. */
export interface ChangeOutcome<Result> {
  readonly result: Result
  readonly change?: PrincipalChange
  /** The audit entries of the change. Without them it is the one of the work under way, with `differences`. */
  readonly entries?: readonly ChangeEntry[] | undefined
  readonly differences?: readonly EntryChange[] | undefined
}

/** What a change took: it must be published before the caller gets a response. */
export interface Taken {
  /** The latest version. */
  readonly principalVersion: number
  /** Each record that changed, with its version. */
  readonly changes: Changes
}

/** The result, and what the change took. */
export interface Changed<Result> extends Taken {
  readonly result: Result
}

/**
 * Changes one principal in one transaction: locks its row, runs `work`, stores the audit entries, and takes the next
 * version as the last step.
 * When nothing changed, the version is that of the latest change, whose announcement may still be under way.
 *
 * @throws ProblemError `not-found` when there never was a user of this name, and whatever `work` throws
 */
export async function changePrincipal<Result>(
  database: Database,
  username: string,
  work: (transaction: Drizzle, principal: LockedPrincipal) => Promise<ChangeOutcome<Result>>,
): Promise<Changed<Result>> {
  if (!isUsername(username)) throw noSuchPrincipal()
  return changeRecord(database, foldUsername(username), work)
}

const noSuchPrincipal = () => new ProblemError('not-found', 'There is no such user.')

/** The same of the record with this name: that of a user, or the catalogue. */
export async function changeRecord<Result>(
  database: Database,
  name: string,
  work: (transaction: Drizzle, principal: LockedPrincipal) => Promise<ChangeOutcome<Result>>,
): Promise<Changed<Result>> {
  const entriesOf = entriesUnderWay()
  const [changed, noted] = await database.transaction(async (transaction) => {
    const [principal] = await transaction
      .select()
      .from(principals)
      .where(eq(principals.usernameFolded, name))
      .for('no key update')
    if (!principal) throw noSuchPrincipal()
    const { result, change, entries, differences } = await work(transaction, principal)
    const own = entriesOf(entries, differences)
    await insertEntries(transaction, own)
    const { usernameFolded: username, principalVersion } = principal
    if (!change) return [{ result, ...takenBy([{ username, version: principalVersion }]) }, own]
    return [{ result, ...(await numberChange(transaction, username, change)) }, own]
  })
  noted.stored()
  return changed
}

/** What these changes took, in the order of their versions. */
const takenBy = (changes: Changes): Taken => ({ principalVersion: changes.at(-1)?.version ?? 0, changes })

/**
 * Takes the next version and writes it on the principal's row, together with `change`. Must be the last step of a
 * transaction that holds the lock of that row: from here on every other change waits.
 */
export async function numberChange(
  transaction: Drizzle,
  usernameFolded: string,
  change: PrincipalChange,
): Promise<Taken> {
  const [counter] = await transaction
    .update(principalChangeCounter)
    .set({ value: sql`${principalChangeCounter.value} + 1` })
    .returning({ value: principalChangeCounter.value })
  if (!counter) throw new Error(noCounter)
  const raise = change.raiseGeneration
  await transaction
    .update(principals)
    .set({
      principalVersion: counter.value,
      ...(change.endsLock && { throttleGeneration: sql`${principals.throttleGeneration} + 1` }),
      ...(raise && {
        generation: sql`${principals.generation} + 1`,
        keptLoginId: raise.keptLogin?.id ?? null,
        keptLoginGeneration: raise.keptLogin?.generation ?? null,
      }),
    })
    .where(eq(principals.usernameFolded, usernameFolded))
  await change.verify?.(transaction)
  const renewed = (await change.renew?.(transaction, counter.value)) ?? []
  return takenBy([{ username: usernameFolded, version: counter.value }, ...renewed])
}

/** True when credentials of this login's generation are still accepted. */
export const isLoginCurrent = (principal: LockedPrincipal, login: LoginGeneration): boolean =>
  login.generation === principal.generation ||
  (login.id === principal.keptLoginId && login.generation === principal.keptLoginGeneration)
