/** Reads entries of the audit log: in order for the check of the chain, and by filters, in pages (`GET /audit`). */

import { type SQL, sql } from 'drizzle-orm'
import type { Database } from '../../shared/platform/database/database.ts'
import { namesOf, parameters, sqlTextOf } from '../../shared/platform/database/statement.ts'
import { foldUsername } from '../../shared/protocol/principal/record.ts'
import { auditEntries, auditHead } from '../store/audit-tables.ts'
import type { AuditEntry } from './audit.ts'

/** An entry with its MAC and the id of the key of the MAC. */
export interface ChainedEntry extends AuditEntry {
  readonly keyId: string
  readonly mac: string
}

const a = auditEntries

const membersSql = sql`'seq', ${a.seq},
    'at', to_char(${a.at} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), 'actor', ${a.actor},
    'action', ${a.action}, 'target', ${a.target}, 'outcome', ${a.outcome}, 'scheme', ${a.scheme},
    'address', ${a.address}, 'requestId', ${a.requestId}, 'count', ${a.count}, 'reason', ${a.reason},
    'client', ${a.client}, 'keyId', ${a.keyId}, 'mac', ${a.mac}`

/** SQL of an entry as JSON. */
const entrySql = sql`case when ${a.changes} is null then json_build_object(${membersSql})
  else json_build_object(${membersSql}, 'changes', ${a.changes}) end`

const page = parameters({ after: 'bigint', limit: 'int' })
const readSql = page.statement(sql`select ${entrySql} as entry from ${auditEntries}
  where ${a.seq} > ${page.after} order by ${a.seq} limit ${page.limit}`)

/** Reads at most `limit` entries after the number `after`, in order. @throws Unavailable */
export async function readChainedEntries(
  database: Database,
  { after, limit }: { readonly after: number; readonly limit: number },
): Promise<ChainedEntry[]> {
  const rows = await database.query<{ entry: ChainedEntry }>(...readSql({ after, limit }))
  return rows.map(({ entry }) => entry)
}

/** What the entries must have. Members that are left out hold for every entry. */
export interface AuditFilter {
  /** A user name in any case of its ASCII letters. */
  readonly actor?: string | undefined
  /** An action, or the beginning of actions with `*` behind it: `key.*`. */
  readonly action?: string | undefined
  /** A user name in any case of its ASCII letters, or an id. */
  readonly target?: string | undefined
  readonly outcome?: string | undefined
  /** The first moment: RFC 3339. */
  readonly from?: string | undefined
  /** The moment behind the last one: RFC 3339. */
  readonly to?: string | undefined
}

/** The order of a page: by number, upwards or downwards. */
export type AuditOrder = 'asc' | 'desc'

/** A page that is asked for. */
export interface AuditPageRequest {
  /** Entries behind this number, in the order of the page; undefined: from the beginning of that order. */
  readonly after?: number | undefined
  readonly limit: number
  /** `asc` when left out. */
  readonly order?: AuditOrder | undefined
  readonly filter?: AuditFilter | undefined
}

/** One page of the log. */
export interface AuditPage {
  readonly items: readonly AuditEntry[]
  /** The number to continue after; undefined when there are no more entries now. */
  readonly next: number | undefined
}

/** How long PostgreSQL may look for the entries of one page. */
export const readTimeoutMs = 10_000

/** The numbers that entries of a span of time can have, both ends included. */
interface NumberRange {
  readonly first: number
  readonly last: number
}

/** The largest number of an entry: the largest whole number of JavaScript. */
const everyNumber: NumberRange = { first: 1, last: Number.MAX_SAFE_INTEGER }

/**
 * Reads at most `limit` entries, without MACs. Pages of one filter and order neither leave out an entry nor give one
 * twice while the log grows: entries get their numbers in the order in which they become visible, and never change.
 * @throws Unavailable, also when it takes longer than `readTimeoutMs`
 */
export async function readEntries(
  database: Database,
  { after, limit, order = 'asc', filter = {} }: AuditPageRequest,
): Promise<AuditPage> {
  const range = rangeBehind(after, order)
  const wanted = limit + 1
  const entries = await readFiltered(database, { filter, range, order, limit: wanted })
  const items = entries.slice(0, limit).map(withoutMac)
  return { items, next: entries.length > limit ? items.at(-1)?.seq : undefined }
}

const withoutMac = ({ keyId: _keyId, mac: _mac, ...entry }: ChainedEntry): AuditEntry => entry

interface FilteredRead {
  readonly filter: AuditFilter
  readonly range: NumberRange
  readonly order: AuditOrder
  readonly limit: number
}

const rangeBehind = (after: number | undefined, order: AuditOrder): NumberRange => {
  if (after === undefined) return everyNumber
  return order === 'asc' ? { ...everyNumber, first: after + 1 } : { ...everyNumber, last: after - 1 }
}

/** How many entries are looked at before the numbers of a span of time are determined. */
const nearEntries = 5_000

async function readFiltered(database: Database, read: FilteredRead): Promise<readonly ChainedEntry[]> {
  const { filter, range, order, limit } = read
  if (order === 'asc' && isEmpty(filter)) return readChainedEntries(database, { after: range.first - 1, limit })
  if (filter.from === undefined && filter.to === undefined) return select(database, read)
  // Most pages of a span lie just behind the page before. The others would walk over all entries outside of the span.
  const near = await select(database, { ...read, range: await nearEnd(database, range, order) })
  if (near.length === limit) return near
  const span = await numbersWithin(database, filter)
  return span === undefined ? [] : select(database, { ...read, range: overlap(range, span) })
}

const isEmpty = (filter: AuditFilter): boolean => Object.values(filter).every((value) => value === undefined)

const overlap = (one: NumberRange, other: NumberRange): NumberRange => ({
  first: Math.max(one.first, other.first),
  last: Math.min(one.last, other.last),
})

/** The part of a range with which its order begins. */
async function nearEnd(database: Database, range: NumberRange, order: AuditOrder): Promise<NumberRange> {
  if (order === 'asc') return overlap(range, { first: 1, last: range.first + nearEntries })
  const last = Math.min(range.last, await countEntries(database))
  return overlap(range, { first: last - nearEntries, last })
}

const countSql = sqlTextOf(sql`select ${auditHead.count}::text as count from ${auditHead}`)

/** The number of entries, which is also the number of the last one. @throws Unavailable */
async function countEntries(database: Database): Promise<number> {
  const [row] = await database.query<{ count: string }>(countSql)
  return Number(row?.count ?? 0)
}

/**
 * The smallest and the largest number of the entries in the span of time of this filter; undefined when there is none.
 * Times do not follow the order of numbers: servers have clocks of their own, and some entries wait for their turn.
 * `+ 0` makes PostgreSQL read the index of times alone. @throws Unavailable
 */
async function numbersWithin(
  database: Database,
  { from, to }: Pick<AuditFilter, 'from' | 'to'>,
): Promise<NumberRange | undefined> {
  const rows = await database.readWithin<{ range: { first: number | null; last: number | null } }>(
    sql`select json_build_object('first', min(${a.seq} + 0), 'last', max(${a.seq} + 0)) as range from ${auditEntries}
      where ${conditionOf({ from, to })}`,
    readTimeoutMs,
  )
  const { first = null, last = null } = rows[0]?.range ?? {}
  return first === null || last === null ? undefined : { first, last }
}

/** Finds numbers first: PostgreSQL would make JSON of every entry that it sorts. */
async function select(
  database: Database,
  { filter, range, order, limit }: FilteredRead,
): Promise<readonly ChainedEntry[]> {
  if (range.first > range.last) return []
  const rows = await database.readWithin<{ entry: ChainedEntry }>(
    sql`select ${entrySql} as entry from ${auditEntries} join (
        select ${a.seq} from ${auditEntries} where ${withinRange(range)} and ${conditionOf(filter)}
        order by ${a.seq} ${sql.raw(order)} limit ${limit}::int) as found using (${namesOf(a, 'seq')})
      order by ${a.seq} ${sql.raw(order)}`,
    readTimeoutMs,
  )
  return rows.map(({ entry }) => entry)
}

/** SQL: the number of an entry lies in this range. */
const withinRange = ({ first, last }: NumberRange): SQL =>
  sql`${a.seq} between ${String(first)}::text::bigint and ${String(last)}::text::bigint`

/** SQL: an entry has what the filter says. Its parts have the form of the indexes of the table. */
function conditionOf({ actor, action, target, outcome, from, to }: AuditFilter): SQL {
  const parts = [
    actor !== undefined && sql`lower(${a.actor} collate "C") = ${foldUsername(actor)}::text`,
    action !== undefined && actionIs(action),
    target !== undefined && sql`lower(${a.target} collate "C") = ${foldUsername(target)}::text`,
    outcome !== undefined && sql`${a.outcome} = ${outcome}::text`,
    from !== undefined && sql`${a.at} >= ${timestamp(from)}`,
    to !== undefined && sql`${a.at} < ${timestamp(to)}`,
  ]
  const given = parts.filter((part) => part !== false)
  return given.length === 0 ? sql`true` : sql.join(given, sql` and `)
}

const actionIs = (action: string): SQL =>
  action.endsWith('*')
    ? sql`${a.action} collate "C" like ${`${action.slice(0, -1).replace(/[\\%_]/g, '\\$&')}%`}::text`
    : sql`${a.action} collate "C" = ${action}::text`

const timestamp = (time: string): SQL => sql`${time}::text::timestamptz`
