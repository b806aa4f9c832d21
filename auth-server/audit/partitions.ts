/**
 * The partitions of the audit log, by numbers. The last one takes new entries; at the beginning of a month it ends, and
 * the next one begins. So old entries go with their tables instead of row by row.
 */

import { setTimeout as pause } from 'node:timers/promises'
import { sql } from 'drizzle-orm'
import { rfc3339 } from '../../shared/platform/clock.ts'
import { Conflicted, type Database, type Drizzle } from '../../shared/platform/database/database.ts'
import type { Chore } from '../../shared/platform/database/housekeeping.ts'
import { namesOf } from '../../shared/platform/database/statement.ts'
import { OperationError } from '../../shared/platform/terminal/report.ts'
import { auditEntries, auditHead } from '../store/audit-tables.ts'

/** A partition. */
export interface AuditPartition {
  /** A table of the schema `auth`. */
  readonly name: string
  /** The number of the first entry that can be in it. */
  readonly first: number
  /** The number behind the last one; null for the last partition. */
  readonly behind: number | null
}

/** Reads the partitions, in the order of their numbers. @throws Unavailable */
export async function readPartitions(database: Database): Promise<AuditPartition[]> {
  const rows = await database.query<{ partition: AuditPartition }>(
    'select to_json(p) as partition from auth.audit_partitions() p',
  )
  return rows.map(({ partition }) => partition)
}

/** A partition with more entries ends before its month does. */
const mostEntries = 5_000_000

/** To end a partition, PostgreSQL reads it while writers wait. So it does not end while that would take longer. */
const longestReadMs = 2_000

const attempts = 20
const pauseMs = 500

const inUse =
  'Others use the audit log all the time, such as a dump or an export. Nothing more was done: repeat it later.'

/** SQLSTATE `lock_not_available`. */
const isHeld = (error: unknown): boolean => error instanceof Conflicted && error.sqlState === '55P03'

/**
 * Runs work on tables, and repeats it some times when it gave up because others use them: in the pauses, those who wait
 * behind it have their turn. @throws OperationError when they still use them after twelve seconds
 */
export async function retryWhileHeld<Result>(work: () => Promise<Result>, signal?: AbortSignal): Promise<Result> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await work()
    } catch (error) {
      if (!isHeld(error)) throw error
      if (attempt === attempts) throw new OperationError(inUse)
      await pause(pauseMs, undefined, signal && { signal }).catch(() => signal?.throwIfAborted())
    }
  }
}

/**
 * Ends the last partition when its first entry is of an earlier month than now, or when it has many entries, and begins
 * the next one.
 */
export const cutAuditLog: Chore = {
  name: 'partitions of the audit log',
  run: async (drizzle, clock) => {
    const due = await findDue(drizzle, clock.now())
    if (due === undefined) return
    // It also brings the partition into memory.
    const start = clock.monotonic()
    await drizzle.execute(sql`select count(*) from auth.${sql.identifier(due)}`)
    const tookMs = Math.round(clock.monotonic() - start)
    if (tookMs > longestReadMs) throw new Error(`partition auth.${due} was not closed: reading it takes ${tookMs} ms`)
    await retryWhileHeld(() => drizzle.execute(sql`select auth.cut_audit_entries()`))
  },
}

/** The name of the last partition, if it should end. */
async function findDue(drizzle: Drizzle, now: number): Promise<string | undefined> {
  const month = rfc3339(now).slice(0, 7)
  const isOver = sql`(select to_char(${auditEntries.at} at time zone 'UTC', 'YYYY-MM') < ${month}::text
    from ${auditEntries} where ${auditEntries.seq} >= p.first order by ${auditEntries.seq} limit 1)`
  const isLarge = sql`(select ${auditHead.count} from ${auditHead}) - p.first >= ${mostEntries}::bigint`
  const [last] = await drizzle
    .select({ name: sql<string>`p.name` })
    .from(sql`auth.audit_partitions() p`)
    .where(sql`p.behind is null and (${isOver} or ${isLarge})`)
  return last?.name
}

/**
 * Drops a partition that is not the last one. Entries behind the number `last` stay: a smaller partition takes their
 * copies. Reads and writes wait for milliseconds, and only for the drop itself. @throws Conflicted 55P03 when others
 * use the table for longer than 0.1 seconds
 */
export async function dropPartition(
  transaction: Drizzle,
  { name, behind }: AuditPartition,
  last: number,
): Promise<void> {
  const seq = namesOf(auditEntries, 'seq')
  const [dropped, rest] = [sql.identifier(name), `audit_entries_from_${last + 1}`]
  const stays = behind !== null && behind > last + 1
  if (stays) {
    await transaction.execute(sql`select auth.create_audit_partition(${rest}::text)`)
    const [first, end] = [sql.raw(String(last + 1)), sql.raw(String(behind))]
    // So PostgreSQL need not read the rows once more while others wait.
    await transaction.execute(sql`alter table auth.${sql.identifier(rest)}
      add constraint audit_entries_part check (${seq} >= ${first} and ${seq} < ${end})`)
    await transaction.execute(sql`insert into auth.${sql.identifier(rest)}
      select * from auth.${dropped} where ${seq} > ${String(last)}::text::bigint`)
  }
  await transaction.execute(sql`set local lock_timeout = '100ms'`)
  await transaction.execute(sql`drop table auth.${dropped}`)
  if (!stays) return
  await transaction.execute(sql`alter table ${auditEntries} attach partition auth.${sql.identifier(rest)}
    for values from (${sql.raw(String(last + 1))}) to (${sql.raw(String(behind))})`)
}
