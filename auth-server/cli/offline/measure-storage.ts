/** What both servers have stored, and what is due. */
import type { Database } from '../../../shared/platform/database/database.ts'
import {
  type MeasuredTable,
  type MeasureOptions,
  measureTable,
  mostOverdueRows,
  type StoredKind,
} from '../../../shared/platform/database/measure-table.ts'
import { dueMonth } from '../../audit/archive-head.ts'
import { readPartitions, type StoredPartition } from '../../audit/partitions.ts'
import { bytesText } from '../terminal/bytes-text.ts'
import type { StoredData } from './stored-data.ts'

/** A kind of data with its size. */
export interface StoredSize extends MeasuredTable {
  readonly name: string
  readonly table: string
  readonly removal: string
}

/** All sizes, and what an operator should do, in sentences. */
export interface StorageReport {
  readonly kinds: readonly StoredSize[]
  readonly due: readonly string[]
  /** Of the audit log, in order; empty without its database. */
  readonly partitions: readonly StoredPartition[]
  /** Databases that the tool has no setting of. */
  readonly notSeen: readonly string[]
}

/** A size that a table should not pass: a backup takes hours then, and the rebuild of an index too. */
const comfortableBytes = 1e12
/** Below it, dead rows say nothing: a small table that changes often has many. */
const largeBytes = 16e6
const monthDays = 30.44
/** A table that reaches the size later is not worth a word. */
const soonMonths = 24

/** Measures one table after the other. @throws Unavailable, DatabaseError */
export async function measureStorage(data: StoredData, options: MeasureOptions): Promise<StorageReport> {
  const { authKinds } = await import('../../store/stored-kinds.ts')
  const { dealKinds } = await import('../../../deal-server/retention/stored-kinds.ts')
  const kinds: StoredSize[] = []
  const due: string[] = []
  const measure = async (database: Database, schema: string, known: readonly StoredKind[]) => {
    for (const kind of [...known, ...(await otherTables(database, schema, known))]) {
      const measured = await measureTable(database, kind, options)
      if (measured === undefined) continue
      const { name, table, removal } = kind
      kinds.push({ name, table, ...measured, removal })
      due.push(...dueOf(kind, measured))
    }
  }
  if (data.deals !== undefined) await measure(data.deals, 'deals', dealKinds)
  let partitions: readonly StoredPartition[] = []
  if (data.auth !== undefined) {
    partitions = await readPartitions(data.auth)
    await measure(data.auth, 'auth', authKinds)
    const month = await dueMonth(data.auth, options.now)
    if (month) due.push(`The audit log has entries from before ${month}: \`ops audit archive --before ${month} …\``)
  }
  const notSeen = [
    ...(data.deals === undefined ? ['DEAL_DATABASE_URL'] : []),
    ...(data.auth === undefined ? ['AUTH_DATABASE_URL'] : []),
  ]
  return { kinds, due, partitions, notSeen }
}

/** Tables of this schema that no kind names, such as those of a later release. Partitions belong to their table. */
async function otherTables(
  database: Pick<Database, 'query'>,
  schema: string,
  known: readonly StoredKind[],
): Promise<StoredKind[]> {
  const found = await database.query<{ table: string }>(
    `select format('%I.%I', nspname, relname) as "table" from pg_class c join pg_namespace n on n.oid = relnamespace
      where nspname = $1::text and relkind in ('r', 'p') and not relispartition and relname <> 'migrations'
        and has_table_privilege(c.oid, 'select')
      order by 1`,
    [schema],
  )
  const names = new Set(known.map(({ table }) => table))
  const others = found.filter(({ table }) => !names.has(table))
  return others.map(({ table }) => ({ name: table, table, kept: true, removal: '-' }))
}

/** What should be done about a table, or soon. */
export function dueOf({ name, kept }: StoredKind, measured: MeasuredTable): string[] {
  const { rows, tableBytes, indexBytes, bytesPerDay, overdueRows, deadRows } = measured
  const due: string[] = []
  const [bytes, limit] = [tableBytes + indexBytes, bytesText(comfortableBytes)]
  const months = bytesPerDay ? (comfortableBytes - bytes) / bytesPerDay / monthDays : Number.POSITIVE_INFINITY
  if (bytes >= comfortableBytes) due.push(`The ${name} take ${bytesText(bytes)}, over ${limit}.`)
  else if (kept && months < soonMonths) {
    due.push(`The ${name} reach ${limit} in about ${Math.max(1, Math.round(months))} months.`)
  }
  // Twice what autovacuum waits for by default.
  if (tableBytes > largeBytes && deadRows > 100 + 0.4 * rows) {
    due.push(`The ${name} have ${deadRows} dead rows beside ${rows}: autovacuum is behind.`)
  }
  if (overdueRows > 0) {
    const count = overdueRows === mostOverdueRows ? `${overdueRows} or more` : String(overdueRows)
    due.push(`Of the ${name}, ${count} should have been removed or emptied an hour ago: housekeeping is behind.`)
  }
  return due
}
