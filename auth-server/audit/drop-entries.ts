/** Drops the oldest entries of the audit log, once they were verified: whole partitions, or rows in batches. */
import { setTimeout as pause } from 'node:timers/promises'
import { and, eq, type SQL, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/pg-core'
import type { Database, Drizzle } from '../../shared/platform/database/database.ts'
import { build, namesOf, parameters } from '../../shared/platform/database/statement.ts'
import { OperationError } from '../../shared/platform/terminal/report.ts'
import { auditDroppedOnce, auditEntries, auditStart } from '../store/audit-tables.ts'
import type { SecretsKey, SecretsKeys } from '../store/secrets-keys.ts'
import type { AuditHead } from './audit.ts'
import { type EntriesOfChange, entriesUnderWay, insertEntries } from './change-entries.ts'
import { type LogStart, readLogStart, sealStart } from './log-start.ts'
import { type AuditPartition, dropPartition, readPartitions, retryWhileHeld } from './partitions.ts'
import { sentenceOf, verifyChain } from './verify-chain.ts'

/** The systems that the command uses. */
export interface DropPorts {
  readonly database: Database
  /** The first one seals. */
  readonly secretsKeys: SecretsKeys
  /** Checks entries of former keys, too. */
  readonly allSecretsKeys: SecretsKeys
  readonly signal: AbortSignal
  /** Rows for each transaction; 2,000 when left out. */
  readonly batchSize?: number
  /** A partition with no more rows that stay is dropped, and those rows are copied; 20,000 when left out. */
  readonly mostCopied?: number
  /** How many entries are verified, out of how many in the log. */
  readonly onVerified?: (done: number, total: number) => void
  /** How many entries are dropped, out of how many. */
  readonly onProgress?: (done: number, total: number) => void
}

/** What was dropped. */
export interface Dropped {
  readonly entries: number
  /** The last entry that is no longer there; the empty log when there never was any. */
  readonly head: AuditHead
}

/** Leaves the database to other callers between two batches. */
const pauseMs = 10

/**
 * Drops the entries in front of the first one that is of this date (`2026-01-01`, UTC) or later, if their chain is
 * sound. Each transaction drops the first entries and says so in the start of the log: the log that is left is whole at
 * any time, also after an interruption. @throws OperationError when the chain is broken; Unavailable
 */
export async function dropEntries(ports: DropPorts, before: string): Promise<Dropped> {
  const { database, secretsKeys, allSecretsKeys, signal, onVerified, onProgress } = ports
  const onPage = (done: number, total: number) => {
    onVerified?.(done, total)
    signal.throwIfAborted()
  }
  const verifying = { database, secretsKeys: allSecretsKeys, before, onProgress: onPage }
  const { sound: last, fault } = await verifyChain(verifying)
  if (fault) throw new OperationError(`${sentenceOf(fault)} Nothing was dropped.`)
  const start: AuditHead = await readLogStart(database)
  const entriesOf = entriesUnderWay()
  let head = start
  while (head.count < last.count) {
    signal.throwIfAborted()
    const { to: count, dropped } = await nextStep(ports, head.count, last.count)
    const next: AuditHead = { count, digest: count === last.count ? last.digest : await macOf(database, count) }
    const entries = entriesOf(head === start ? [{ action: 'audit.dropped', target: before }] : [])
    const step: Step = { from: head, to: next, dropped, entries, key: secretsKeys[0] }
    await retryWhileHeld(() => dropStep(database, step), signal)
    head = next
    onProgress?.(head.count - start.count, last.count - start.count)
    await pause(pauseMs)
  }
  return { entries: head.count - start.count, head }
}

interface Step {
  readonly from: AuditHead
  readonly to: AuditHead
  /** The partition that is dropped; undefined: rows are deleted. */
  readonly dropped: AuditPartition | undefined
  /** The first step has an audit entry. */
  readonly entries: EntriesOfChange
  readonly key: SecretsKey
}

/** A partition goes at once when all its entries go, or all but a few. */
async function nextStep(
  { database, batchSize = 2000, mostCopied = 20_000 }: DropPorts,
  from: number,
  last: number,
): Promise<{ readonly to: number; readonly dropped: AuditPartition | undefined }> {
  const [part] = (await readPartitions(database)).filter(({ behind }) => behind === null || behind > from + 1)
  if (part === undefined || part.behind === null) return { to: Math.min(from + batchSize, last), dropped: undefined }
  const end = part.behind - 1
  if (end - last <= Math.min(mostCopied, last - from)) return { to: Math.min(end, last), dropped: part }
  return { to: Math.min(from + batchSize, last), dropped: undefined }
}

const one = parameters({ seq: 'bigint' })
const macSql = one.statement(
  build.select({ mac: auditEntries.mac }).from(auditEntries).where(sql`${auditEntries.seq} = ${one.seq}`),
)

async function macOf(database: Database, seq: number): Promise<string> {
  const [row] = await database.query<{ mac: string }>(...macSql({ seq }))
  if (row) return row.mac
  throw new OperationError(`Entry ${seq} is no longer there. Nothing more was dropped.`)
}

function dropStep(database: Database, { from, to, dropped, entries, key }: Step): Promise<void> {
  return database.transaction(async (transaction) => {
    await moveStart(transaction, from, sealStart(key, to))
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
  sql`insert into ${auditDroppedOnce} (${namesOf(auditDroppedOnce, 'action', 'target')})
      select distinct ${source.action}, ${source.target} from ${source}
      where ${source.action} collate "C" like 'key.%' and ${source.target} is not null and ${condition}
    on conflict do nothing`

async function moveStart(
  transaction: Drizzle,
  from: AuditHead,
  { count, digest, month, keyId, seal }: LogStart,
): Promise<void> {
  const moved = await transaction
    .update(auditStart)
    .set({ count, mac: digest, month, keyId, seal })
    .where(and(eq(auditStart.count, from.count), eq(auditStart.mac, from.digest)))
    .returning({ count: auditStart.count })
  if (moved.length === 0) throw new OperationError('Somebody else drops entries, too. Nothing more was dropped here.')
}
