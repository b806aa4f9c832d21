/** Removes entries that are in the archive from the database: whole partitions, or rows in batches. */

import { setTimeout as pause } from 'node:timers/promises'
import { and, eq, type SQL, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/pg-core'
import type { Database, Drizzle } from '../../shared/platform/database/database.ts'
import { build, namesOf, textOf } from '../../shared/platform/database/statement.ts'
import { OperationError } from '../../shared/platform/terminal/report.ts'
import { auditArchive, auditArchivedOnce, auditEntries } from '../store/audit-tables.ts'
import type { SecretsKey, SecretsKeys } from '../store/secrets-keys.ts'
import { type ArchiveHead, readArchiveHead, type SealedHead, sealHead } from './archive-head.ts'
import type { AuditHead } from './audit.ts'
import { type EntriesOfChange, entriesUnderWay, insertEntries } from './change-entries.ts'
import type { MonthFacts } from './month-file.ts'
import { type AuditPartition, dropPartition, readPartitions, retryWhileHeld } from './partitions.ts'

/** The systems that the removal uses. */
export interface RemovalPorts {
  readonly database: Pick<Database, 'query' | 'transaction'>
  readonly secretsKeys: SecretsKeys
  readonly signal: AbortSignal
  /** Rows for each transaction; 2,000 when left out. */
  readonly batchSize?: number
  /** A partition with no more rows that stay is dropped, and those rows are copied; 20,000 when left out. */
  readonly mostCopied?: number
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
  const { database, secretsKeys, signal, onProgress } = ports
  let head: ArchiveHead = await readArchiveHead(database)
  const start = head.count
  const entriesOf = entriesUnderWay()
  const total = (months.at(-1)?.last ?? start) - start
  for (const { month, last, mac } of months) {
    while (head.count < last) {
      signal.throwIfAborted()
      const { to: count, dropped } = await nextStep(ports, head.count, last)
      const digest = count === last ? mac : await macOf(database, count)
      const next: ArchiveHead = { count, digest, month }
      const entries = entriesOf(count === last ? [{ action: 'audit.archived', target: month }] : [])
      const step: Step = { from: head, to: next, dropped, entries, key: secretsKeys[0] }
      await retryWhileHeld(() => removeStep(database, step), signal)
      head = next
      onProgress?.(head.count - start, total)
      await pause(pauseMs)
    }
  }
  return head.count - start
}

interface Step {
  readonly from: ArchiveHead
  readonly to: ArchiveHead
  /** The partition that is dropped; undefined: rows are deleted. */
  readonly dropped: AuditPartition | undefined
  /** The last step of a month has an audit entry. */
  readonly entries: EntriesOfChange
  readonly key: SecretsKey
}

/** A partition goes at once when all its entries are archived, or all but a few. */
async function nextStep(
  { database, batchSize = 2000, mostCopied = 20_000 }: RemovalPorts,
  from: number,
  last: number,
): Promise<{ readonly to: number; readonly dropped: AuditPartition | undefined }> {
  const [part] = (await readPartitions(database)).filter(({ behind }) => behind === null || behind > from + 1)
  if (part === undefined || part.behind === null) return { to: Math.min(from + batchSize, last), dropped: undefined }
  const end = part.behind - 1
  if (end - last <= Math.min(mostCopied, last - from)) return { to: Math.min(end, last), dropped: part }
  return { to: Math.min(from + batchSize, last), dropped: undefined }
}

const macSql = textOf(
  build.select({ mac: auditEntries.mac }).from(auditEntries).where(sql`${auditEntries.seq} = $1::text::bigint`),
)

async function macOf(database: Pick<Database, 'query'>, seq: number): Promise<string> {
  const [row] = await database.query<{ mac: string }>(macSql, [String(seq)])
  if (row) return row.mac
  throw new OperationError(`Entry ${seq} is no longer there. Nothing more was removed.`)
}

function removeStep(database: Pick<Database, 'transaction'>, { from, to, dropped, entries, key }: Step): Promise<void> {
  return database.transaction(async (transaction) => {
    await moveHead(transaction, from, sealHead(key, to))
    await insertEntries(transaction, entries)
    if (dropped === undefined) {
      await transaction.execute(sql`with gone as (
          delete from ${auditEntries} where ${isUpTo(to)}
          returning ${auditEntries.action}, ${auditEntries.target}) ${rememberOnce(gone)}`)
    } else {
      await transaction.execute(rememberOnce(auditEntries, isUpTo(to)))
      await dropPartition(transaction, dropped, to.count)
    }
  })
}

const isUpTo = ({ count }: AuditHead) => sql`${auditEntries.seq} <= ${String(count)}::text::bigint`

/** What was deleted. */
const gone = alias(auditEntries, 'gone')

/** What is logged only once must be known for ever (`recordOnce`). */
const rememberOnce = (source: typeof auditEntries | typeof gone, condition: SQL = sql`true`): SQL =>
  sql`insert into ${auditArchivedOnce} (${namesOf(auditArchivedOnce, 'action', 'target')})
      select distinct ${source.action}, ${source.target} from ${source}
      where ${source.action} collate "C" like 'key.%' and ${source.target} is not null and ${condition}
    on conflict do nothing`

async function moveHead(
  transaction: Drizzle,
  from: AuditHead,
  { count, digest, month, keyId, seal }: SealedHead,
): Promise<void> {
  const moved = await transaction
    .update(auditArchive)
    .set({ count, mac: digest, month, keyId, seal })
    .where(and(eq(auditArchive.count, from.count), eq(auditArchive.mac, from.digest)))
    .returning({ count: auditArchive.count })
  if (moved.length === 0) throw new OperationError('Somebody else archives, too. Nothing more was removed here.')
}
