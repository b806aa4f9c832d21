/** The one row that numbers the changes of principals, and says which installation the database is. */
import type { Database } from '../../shared/platform/database/database.ts'

/** What it means when there is no such row. */
export const noCounter = 'auth.principal_change_counter has no row: the migrations have not all been applied'

/** That row. */
export interface ChangeCounter {
  /** Which installation the database is. */
  readonly installationId: string
  /** The number of the latest change. */
  readonly value: number
}

/** The database is not the one it was before: it was replaced while this process ran. */
export class OtherInstallation extends Error {
  override readonly name = 'OtherInstallation'
}

const counterSql =
  'select value::text as value, installation_id::text as "installationId" from auth.principal_change_counter'

/** @throws Unavailable */
export async function readChangeCounter(database: Pick<Database, 'query'>): Promise<ChangeCounter> {
  const [row] = await database.query<{ value: string; installationId: string }>(counterSql)
  if (!row) throw new TypeError(noCounter)
  return { installationId: row.installationId, value: Number(row.value) }
}

/** @throws OtherInstallation when what was read is not of the installation that was expected */
export function assertInstallation(found: { readonly installationId: string }, expected: string): void {
  if (found.installationId === expected) return
  throw new OtherInstallation(`the database was replaced: it is installation ${found.installationId} now`)
}
