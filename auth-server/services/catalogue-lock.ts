import { eq } from 'drizzle-orm'
import type { Database, Drizzle } from '../../shared/platform/database/database.ts'
import type { ChangeEntry } from '../audit/audit.ts'
import { entriesUnderWay, insertEntries } from '../audit/change-entries.ts'
import { principals } from '../store/schema.ts'
import { type Changed, numberChange } from '../users/principal-change.ts'

/** The principal that stands for the catalogue. No user can have this name. */
export const catalogueName = ':catalogue'

/**
 * Changes what belongs to the catalogue in one transaction: locks its row, runs `work`, stores the audit entries, and
 * takes the next version as the last step. @throws what `work` throws; Unavailable
 */
export async function changeCatalogue<Result>(
  database: Database,
  work: (transaction: Drizzle) => Promise<{ readonly result: Result; readonly entries?: readonly ChangeEntry[] }>,
): Promise<Changed<Result>> {
  const entriesOf = entriesUnderWay()
  const [changed, noted] = await database.transaction(async (transaction) => {
    const isCatalogue = eq(principals.usernameFolded, catalogueName)
    const [row] = await transaction.select().from(principals).where(isCatalogue).for('no key update')
    if (!row) throw new TypeError('the migrations make the row of the catalogue')
    const { result, entries } = await work(transaction)
    const own = entriesOf(entries)
    await insertEntries(transaction, own)
    return [{ result, principalVersion: await numberChange(transaction, catalogueName, {}) }, own]
  })
  noted.stored()
  return changed
}
