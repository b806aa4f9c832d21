/** The row that counts the changes of principals and holds the instance id. */
import type { Database } from '../../shared/platform/database/database.ts'

/** The error message when the row is missing. */
export const noCounter = 'auth.principal_change_counter has no row: the migrations have not all been applied'

/** The contents of the row. */
export interface ChangeCounter {
  /** The instance id of the database. */
  readonly instanceId: string
  /** The latest principal version. */
  readonly value: number
}

/** The database was replaced by another one while this process ran. */
export class OtherInstance extends Error {
  override readonly name = 'OtherInstance'
}

const counterSql =
  'select value::text as value, installation_id::text as "instanceId" from auth.principal_change_counter'

/** Reads the row. @throws Unavailable */
export async function readChangeCounter(database: Pick<Database, 'query'>): Promise<ChangeCounter> {
  const [row] = await database.query<{ value: string; instanceId: string }>(counterSql)
  if (!row) throw new TypeError(noCounter)
  return { instanceId: row.instanceId, value: Number(row.value) }
}

/** Checks that data come from the expected instance. @throws OtherInstance */
export function assertSameInstance(found: { readonly instanceId: string }, expected: string): void {
  if (found.instanceId === expected) return
  throw new OtherInstance(`the database was replaced: it is instance ${found.instanceId} now`)
}
