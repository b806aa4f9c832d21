/**
 * The one door for a change of resource servers, rights and roles. A change takes the next principal version and writes
 * it on the row of the catalogue, so the change feed announces it. Where the demand for a second factor moves, the
 * records of the users whom it concerns get new versions too: they list the logins that have none.
 */
import { eq, inArray, type SQL, sql } from 'drizzle-orm'
import type { Database, Drizzle } from '../../shared/platform/database/database.ts'
import { OperatorError } from '../../shared/platform/operator-error.ts'
import { Unavailable } from '../../shared/platform/problems/errors.ts'
import type { ChangeEntry, EntryChange } from '../../shared/protocol/entry-changes.ts'
import { type Catalogue, catalogueName } from '../../shared/protocol/principal/catalogue.ts'
import type { Changes } from '../../shared/protocol/principal/change-feed.ts'
import { catalogueIn } from '../principals/catalogue.ts'
import { type Changed, changeRecord } from '../principals/principal-change.ts'
import { principalChangeCounter, principals, users } from '../store/schema.ts'
import { concernedBy, demandOf, isSameDemand, type StoredDemand, storeDemand, storedDemand } from './demand.ts'

/** What a change begins with. */
export interface CatalogueBefore {
  readonly catalogue: Catalogue
  /** What is made now is newer than every record up to this version (`since`). */
  readonly version: number
  /** SECOND_FACTOR_ROLES, and what follows from it. */
  readonly stored: StoredDemand
}

/** The outcome of a change. */
export interface CatalogueOutcome<Result> {
  readonly result: Result
  /** False: the catalogue is as before. */
  readonly isChanged: boolean
  /** Users whose records change beside the catalogue, by folded names. */
  readonly renewed?: readonly string[]
  /** Runs when every other change has committed or waits. Throws to undo the change. */
  readonly verify?: (transaction: Drizzle) => Promise<void>
  /** SECOND_FACTOR_ROLES from now on; left out: as before. */
  readonly secondFactorRoles?: readonly string[]
  /** The audit entries of the change. Without them it is the one of the work under way, with `differences`. */
  readonly entries?: readonly ChangeEntry[]
  readonly differences?: readonly EntryChange[]
}

/** How often a change starts over because users whom it concerns have changed in between. */
const maxAttempts = 5

/** A user came under the demand, or out of it, while the change ran. */
class ChangedMeanwhile extends Error {
  override readonly name = 'ChangedMeanwhile'
}

/**
 * Changes the catalogue in one transaction. The version is the latest that the change took: wait until it is published.
 * @throws what `work` and `verify` throw; Unavailable
 */
export async function changeCatalogue<Result>(
  database: Database,
  work: (transaction: Drizzle, before: CatalogueBefore) => Promise<CatalogueOutcome<Result>>,
): Promise<Changed<Result>> {
  for (let attempt = 1; attempt <= maxAttempts; attempt += 1) {
    try {
      return await changeOnce(database, work)
    } catch (error) {
      if (!(error instanceof ChangedMeanwhile)) throw error
    }
  }
  throw new Unavailable('database', { cause: new ChangedMeanwhile() })
}

const changeOnce = <Result>(
  database: Database,
  work: (transaction: Drizzle, before: CatalogueBefore) => Promise<CatalogueOutcome<Result>>,
): Promise<Changed<Result>> =>
  changeRecord(database, catalogueName, async (transaction, { principalVersion: version }) => {
    const catalogue = await catalogueIn(transaction)
    const stored = await storedDemand(transaction)
    const outcome = await work(transaction, { catalogue, version, stored })
    const {
      result,
      isChanged,
      renewed = [],
      verify,
      secondFactorRoles: listed = stored.listed,
      entries,
      differences,
    } = outcome
    if (!isChanged) return { result, entries }
    const demand = demandOf(await catalogueIn(transaction), listed)
    const concerned = isSameDemand(stored.demand, demand) ? sql`false` : concernedBy(stored.demand, demand)
    const locked = new Set(
      await lockRecords(transaction, [...renewed, ...(await namesOfUsers(transaction, concerned))]),
    )
    const renew = async (source: Drizzle, taken: number) => {
      const names = await namesOfUsers(source, concerned)
      if (names.some((name) => !locked.has(name))) throw new ChangedMeanwhile()
      await storeDemand(source, { listed, demand })
      return renewRecords(source, [...locked], taken)
    }
    return { result, entries, differences, change: { ...(verify && { verify }), renew } }
  })

/** Locks the records of these users in the order of their names, before the counter, as every change does. */
export async function lockRecords(transaction: Drizzle, names: readonly string[]): Promise<string[]> {
  if (names.length === 0) return []
  const listed = sql`(select json_array_elements_text(${JSON.stringify(names)}::json))`
  const rows = await transaction
    .select({ name: principals.usernameFolded })
    .from(principals)
    .where(inArray(principals.usernameFolded, listed))
    .orderBy(principals.usernameFolded)
    .for('no key update')
  return rows.map(({ name }) => name)
}

/** The folded names of these users. */
export async function namesOfUsers(transaction: Drizzle, where: SQL): Promise<string[]> {
  const rows = await transaction.select({ name: users.usernameFolded }).from(users).where(where)
  return rows.map(({ name }) => name)
}

/** Gives these records the versions after `taken`. The counter is locked. */
async function renewRecords(transaction: Drizzle, names: readonly string[], taken: number): Promise<Changes> {
  if (names.length === 0) return []
  await transaction.update(principalChangeCounter).set({ value: taken + names.length })
  await transaction
    .update(principals)
    .set({ principalVersion: sql`${taken} + i.number` })
    .from(sql`json_array_elements_text(${JSON.stringify(names)}::json) with ordinality as i(name, number)`)
    .where(eq(principals.usernameFolded, sql`i.name`))
  return names.map((username, index) => ({ username, version: taken + index + 1 }))
}

/** Stores another SECOND_FACTOR_ROLES than that of the start before. @throws OperatorError for an unknown role */
export const storeSecondFactorRoles = (database: Database, listed: readonly string[]): Promise<Changed<void>> =>
  changeCatalogue(database, async (_transaction, { catalogue, stored }) => {
    const unknown = listed.filter((role) => !catalogue.roles.some(({ name }) => name === role))
    if (unknown.length > 0) throw new OperatorError(`SECOND_FACTOR_ROLES: there is no role ${unknown.join(', ')}`)
    return { result: undefined, isChanged: listed.join() !== stored.listed.join(), secondFactorRoles: listed }
  })
