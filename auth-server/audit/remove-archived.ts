/** Removes entries that are in the archive from the database, in batches. */
import { setTimeout as pause } from 'node:timers/promises'
import { and, eq, sql } from 'drizzle-orm'
import type { Database, Drizzle } from '../../shared/platform/database/database.ts'
import { OperationError } from '../../shared/platform/terminal/report.ts'
import { auditArchive, auditWriters } from '../store/audit-tables.ts'
import type { SecretsKey, SecretsKeys } from '../store/secrets-keys.ts'
import { type ArchiveHead, readArchiveHead, sealHead } from './archive-head.ts'
import type { AuditHead } from './audit.ts'
import { type JournalPart, type JournalPlace, placesBehind } from './journal-places.ts'
import type { MonthFacts } from './month-file.ts'
import { journalPartSql } from './read-entries.ts'

/** The systems that the removal uses. */
export interface RemovalPorts {
  readonly database: Pick<Database, 'query' | 'transaction'>
  readonly secretsKeys: SecretsKeys
  readonly signal: AbortSignal
  /** Rows for each transaction; 2,000 when left out. */
  readonly batchSize?: number
  /** How many entries are removed, out of how many. */
  readonly onProgress?: (done: number, total: number) => void
}

/** Leaves the database to other callers between two batches. */
const pauseMs = 10

/**
 * Removes the entries of these months, which follow the part that is removed already. Each transaction removes the
 * first entries and says so in the head of the archive: the log that is left is whole at any time, also after an
 * interruption. Resolves to the number of removed entries. @throws OperationError, Unavailable
 */
export async function removeArchived(ports: RemovalPorts, months: readonly MonthFacts[]): Promise<number> {
  const { database, secretsKeys, signal, batchSize = 2000, onProgress } = ports
  let head: ArchiveHead = await readArchiveHead(database)
  const start = head.count
  const total = (months.at(-1)?.last ?? start) - start
  for (const { month, last, mac } of months) {
    while (head.count < last) {
      signal.throwIfAborted()
      const count = Math.min(head.count + batchSize, last)
      const digest = count === last ? mac : await macOf(database, count)
      const parts = await partsWithin(database, head.count + 1, count)
      const next: ArchiveHead = { count, digest, month, writers: placesBehind(head.writers, parts) }
      await removeBatch(database, { from: head, to: next, key: secretsKeys[0] })
      head = next
      onProgress?.(head.count - start, total)
      await pause(pauseMs)
    }
  }
  return head.count - start
}

async function macOf(database: Pick<Database, 'query'>, seq: number): Promise<string> {
  const [row] = await database.query<{ mac: string }>(
    'select mac from auth.audit_entries where seq = $1::text::bigint',
    [String(seq)],
  )
  if (row) return row.mac
  throw new OperationError(`Entry ${seq} is no longer there. Nothing more was removed.`)
}

/** The parts of journals that end with these entries, in order. */
async function partsWithin(
  database: Pick<Database, 'query'>,
  first: number,
  last: number,
): Promise<readonly JournalPart[]> {
  const rows = await database.query<{ part: JournalPart }>(
    `select ${journalPartSql} as part from auth.audit_entries
      where seq between $1::text::bigint and $2::text::bigint and writer is not null order by seq`,
    [String(first), String(last)],
  )
  return rows.map(({ part }) => part)
}

interface Batch {
  readonly from: AuditHead
  readonly to: ArchiveHead
  readonly key: SecretsKey
}

function removeBatch(database: Pick<Database, 'transaction'>, { from, to, key }: Batch): Promise<void> {
  const { count, digest, month, writers, keyId, seal } = sealHead(key, to)
  return database.transaction(async (transaction) => {
    const moved = await transaction
      .update(auditArchive)
      .set({ count, mac: digest, month, keyId, seal })
      .where(and(eq(auditArchive.count, from.count), eq(auditArchive.mac, from.digest)))
      .returning({ count: auditArchive.count })
    if (moved.length === 0) throw new OperationError('Somebody else archives, too. Nothing more was removed here.')
    await storeWriters(transaction, writers)
    // What is logged only once must be known for ever (`recordOnce`).
    await transaction.execute(sql`with gone as (
        delete from auth.audit_entries where seq <= ${String(count)}::text::bigint returning action, target)
      insert into auth.audit_archived_once (action, target)
        select distinct action, target from gone where action like 'key.%' and target is not null
      on conflict do nothing`)
  })
}

/** Writers that are known already stay as they are, or go on. */
async function storeWriters(transaction: Drizzle, writers: readonly JournalPlace[]): Promise<void> {
  if (writers.length === 0) return
  await transaction
    .insert(auditWriters)
    .values([...writers])
    .onConflictDoUpdate({
      target: auditWriters.writer,
      set: { number: sql`excluded.number`, mac: sql`excluded.mac` },
      setWhere: sql`excluded.number > ${auditWriters.number}`,
    })
}
