import { sql } from 'drizzle-orm'
import type { PgColumn, PgTable } from 'drizzle-orm/pg-core'
import { createBoundedCache } from '../cache/bounded-cache.ts'
import { type Clock, rfc3339 } from '../clock.ts'
import { type Database, isUnwritable } from './database.ts'
import { parameters } from './statement.ts'

/** Steps in which "last used" moves, for all servers together, in seconds: half of the interval of each server. */
const stepSeconds = 30

/** Bounds of the rows whose use was stored a moment ago. */
const noted = { maxEntries: 10_000, maxBytes: 2_000_000, ttlMs: stepSeconds * 1000 }

interface UsedRows {
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

const used = parameters({ id: 'uuid', now: 'timestamptz' })

/** Creates the function for one process. */
export function createNoteUse(
  { database, clock }: { readonly database: Database; readonly clock: Clock },
  { table, id, lastUsedAt }: UsedRows,
): NoteUse {
  const useSql = used.statement(sql`update ${table} set ${sql.identifier(lastUsedAt.name)} = ${used.now}
    where ${id} = ${used.id} and (${lastUsedAt} is null
      or ${lastUsedAt} < ${used.now} - interval '${sql.raw(String(stepSeconds))} s')`)
  const stored = createBoundedCache<true>({ ...noted, clock })
  return async (row) => {
    if (stored.has(row)) return
    try {
      await database.write(...useSql({ id: row, now: rfc3339(clock.now()) }))
      stored.set(row, true)
    } catch (error) {
      if (!isUnwritable(error)) throw error
    }
  }
}
