/** The one row that numbers the changes of principals, and says which instance the database is. */
import type { Database } from '../../shared/platform/database/database.ts'

/** What it means when there is no such row. */
export const noCounter = 'auth.principal_change_counter has no row: the migrations have not all been applied'

/** That row. */
export interface ChangeCounter {
  /** Which instance the database is. */
  readonly instanceId: string
  /** The number of the latest change. */
  readonly value: number
}

/** The database is not the one it was before: it was replaced while this process ran. */
export class OtherInstance extends Error {
  override readonly name = 'OtherInstance'
}

const counterSql =
  'select value::text as value, installation_id::text as "instanceId" from auth.principal_change_counter'

/** @throws Unavailable */
export async function readChangeCounter(database: Pick<Database, 'query'>): Promise<ChangeCounter> {
  const [row] = await database.query<{ value: string; instanceId: string }>(counterSql)
  if (!row) throw new TypeError(noCounter)
  return { instanceId: row.instanceId, value: Number(row.value) }
}

/** @throws OtherInstance when what was read is not of the instance that was expected */
export function assertSameInstance(found: { readonly instanceId: string }, expected: string): void {
  if (found.instanceId === expected) return
  throw new OtherInstance(`the database was replaced: it is instance ${found.instanceId} now`)
}
