import { sql } from 'drizzle-orm'
import type { PgColumn, PgTable } from 'drizzle-orm/pg-core'
import { createBoundedCache } from '../cache/bounded-cache.ts'
import { type Clock, rfc3339 } from '../clock.ts'
import { type Database, isUnwritable } from './database.ts'
import { textOf } from './statement.ts'

/** Steps in which "last used" moves, for all servers together, in seconds: half of the interval of each server. */
const stepSeconds = 30

/** Bounds of the rows whose use was stored a moment ago. */
const noted = { maxEntries: 10_000, maxBytes: 2_000_000, ttlMs: stepSeconds * 1000 }

/** Where the last use of a row stands. */
export interface UsedRows {
  readonly table: PgTable
  /** The primary key, a UUID. */
  readonly id: PgColumn
  readonly lastUsedAt: PgColumn
}

/**
 * Stores that a row was used now. Writes at most once in `stepSeconds`. Stores nothing while the database can only be
 * read: what the row stands for is still good then. `id` must be a UUID. @throws Unavailable
 */
export type NoteUse = (id: string) => Promise<void>

/** Creates the function for one process. */
export function createNoteUse(
  { database, clock }: { readonly database: Pick<Database, 'write'>; readonly clock: Clock },
  { table, id, lastUsedAt }: UsedRows,
): NoteUse {
  const useSql = textOf(sql`update ${table} set ${sql.identifier(lastUsedAt.name)} = $2::text::timestamptz
    where ${id} = $1::text::uuid and (${lastUsedAt} is null
      or ${lastUsedAt} < $2::text::timestamptz - interval '${sql.raw(String(stepSeconds))} s')`)
  const stored = createBoundedCache<true>({ ...noted, clock })
  return async (used) => {
    if (stored.has(used)) return
    try {
      await database.write(useSql, [used, rfc3339(clock.now())])
      stored.set(used, true)
    } catch (error) {
      if (!isUnwritable(error)) throw error
    }
  }
}
