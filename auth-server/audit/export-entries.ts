/** Reads all entries that a filter finds, page by page, each with what is needed to check it alone. */

import { type SQL, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/pg-core'
import type { Database } from '../../shared/platform/database/database.ts'
import { namesOf } from '../../shared/platform/database/statement.ts'
import { auditEntries, auditStart } from '../store/audit-tables.ts'
import type { SecretsKeys } from '../store/secrets-keys.ts'
import { type Mac, macUnder } from './chain.ts'
import {
  type AuditFilter,
  type ChainedEntry,
  conditionOf,
  countEntries,
  entrySql,
  type NumberRange,
  numbersWithin,
  withinRange,
} from './read-entries.ts'
import { type AuditFault, faultOf } from './verify-chain.ts'

/** An entry with the MAC of the entry before it; empty for the first one. */
export interface ExportedEntry extends ChainedEntry {
  readonly macBefore: string
}

/** The systems that an export uses. */
export interface ExportPorts {
  readonly database: Pick<Database, 'query' | 'readWithin'>
  /** The check knows entries of each of these keys. */
  readonly secretsKeys: SecretsKeys
  /** How many entries are read at once. The default is 1,000. */
  readonly pageSize?: number
  /** Called after each page: how many numbers are done, out of how many. */
  readonly onProgress?: (done: number, total: number) => void
}

/** What an export found. It is complete when its entries have been read. */
export interface ExportResult {
  entries: number
  /** The numbers of the first and the last entry; null when there is none. */
  first: number | null
  last: number | null
  /** The first entry whose MAC is wrong, or cannot be checked. */
  fault: AuditFault | undefined
}

/** How long PostgreSQL may look for one page, in milliseconds. */
const pageTimeoutMs = 60_000

/**
 * Reads the entries that exist at the time of the call, and checks the MAC of each. `result` is filled on the way. A
 * wrong entry is exported too. @throws Unavailable
 */
export async function* exportEntries(
  ports: ExportPorts,
  filter: AuditFilter,
  result: ExportResult,
): AsyncGenerator<ExportedEntry> {
  const { database, pageSize = 1000, onProgress } = ports
  const macs = new Map<string, Mac>(ports.secretsKeys.map((key) => [key.id, macUnder(key)]))
  const range = await rangeOf(database, filter)
  const total = range.last - range.first + 1
  let first = range.first
  while (first <= range.last) {
    const page = await readPage(database, { filter, range: { ...range, first }, limit: pageSize })
    for (const entry of page) {
      result.fault ??= faultOfOne(entry, macs)
      yield entry
      result.entries += 1
      result.first ??= entry.seq
      result.last = entry.seq
    }
    if (page.length < pageSize) break
    first = (page.at(-1)?.seq ?? range.last) + 1
    onProgress?.(first - range.first, total)
  }
  if (total > 0) onProgress?.(total, total)
}

/** An empty result. */
export const emptyResult = (): ExportResult => ({ entries: 0, first: null, last: null, fault: undefined })

const nothing: NumberRange = { first: 1, last: 0 }

async function rangeOf(database: ExportPorts['database'], filter: AuditFilter): Promise<NumberRange> {
  const all = { first: 1, last: await countEntries(database) }
  if (filter.from === undefined && filter.to === undefined) return all
  const span = (await numbersWithin(database, filter, pageTimeoutMs)) ?? nothing
  return { first: span.first, last: Math.min(span.last, all.last) }
}

interface PageRead {
  readonly filter: AuditFilter
  readonly range: NumberRange
  readonly limit: number
}

async function readPage(
  database: Pick<Database, 'readWithin'>,
  { filter, range, limit }: PageRead,
): Promise<ExportedEntry[]> {
  const former = alias(auditEntries, 'former')
  const macBefore: SQL = sql`coalesce(
    (select ${former.mac} from ${auditEntries} ${former} where ${former.seq} = ${auditEntries.seq} - 1),
    (select ${auditStart.mac} from ${auditStart} where ${auditStart.count} = ${auditEntries.seq} - 1), '')`
  const rows = await database.readWithin<{ entry: ChainedEntry; macBefore: string }>(
    sql`select ${entrySql} as entry, ${macBefore} as "macBefore" from ${auditEntries} join (
        select ${auditEntries.seq} from ${auditEntries} where ${withinRange(range)} and ${conditionOf(filter)}
        order by ${auditEntries.seq} limit ${limit}::int) as found using (${namesOf(auditEntries, 'seq')})
      order by ${auditEntries.seq}`,
    pageTimeoutMs,
  )
  return rows.map(({ entry, macBefore: before }) => ({ ...entry, macBefore: before }))
}

const faultOfOne = ({ macBefore, ...entry }: ExportedEntry, macs: ReadonlyMap<string, Mac>): AuditFault | undefined =>
  faultOf(entry, { count: entry.seq - 1, digest: macBefore }, macs)
