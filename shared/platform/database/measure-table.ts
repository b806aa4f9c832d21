/**
 * Measures a table for people who plan storage: rows, bytes and growth. A table of any size costs a bounded number of
 * pages: large ones are sampled, or searched by a number that grows with time. Knows no table.
 */
import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import type { Database } from './database.ts'

/** One kind of data, and the table that holds it. */
export interface StoredKind {
  /** For people: `audit entries`. */
  readonly name: string
  /** With its schema: `auth.audit_entries`. */
  readonly table: string
  /** The time at which a row was made; undefined where rows have none. */
  readonly madeAt?: SQLWrapper
  /** A column with an index of its own that counts the rows, with few gaps: it finds those of the last days exactly. */
  readonly number?: SQLWrapper
  /** The same where no column counts the rows. */
  readonly numbered?: NumberedRows
  /** True when nothing removes rows by itself: then the table grows for ever. */
  readonly kept: boolean
  /** What removes rows, and when. */
  readonly removal: string
  /**
   * The time, with an index, from which on housekeeping removes a row, and what the row must meet beside it. Rows over
   * an hour behind it say that housekeeping does not keep up.
   */
  readonly removedFrom?: SQLWrapper
  /** So many days behind it; at once when left out. */
  readonly removedAfterDays?: number
  readonly removedIf?: SQLWrapper
}

/** Where numbers of rows and their times are found. */
export interface NumberedRows {
  readonly table: SQLWrapper
  readonly number: SQLWrapper
  readonly madeAt: SQLWrapper
}

/** What a table holds. Rows and growth are estimates where the table is large. */
export interface MeasuredTable {
  readonly rows: number
  readonly tableBytes: number
  readonly indexBytes: number
  /** With indexes; null without rows. */
  readonly bytesPerRow: number | null
  /** New rows a day; null where rows have no time. */
  readonly rowsPerDay: number | null
  readonly bytesPerDay: number | null
  /** Rows that housekeeping should have removed an hour ago, at most `mostOverdueRows`. */
  readonly overdueRows: number
  /** Rows that were changed or removed and whose room is not free yet. */
  readonly deadRows: number
}

/** When and how closely to look. */
export interface MeasureOptions {
  /** Milliseconds since 1970. */
  readonly now: number
  /** The growth is that of so many last days. */
  readonly days: number
  /** A table of more pages is sampled. 2,000 when left out: 16 MB. */
  readonly samplePages?: number
}

/** Overdue rows are counted as far as this. */
export const mostOverdueRows = 10_000

const dayMs = 86_400_000
const timeoutMs = 60_000

/** Measures the table of a kind; undefined when this database has no such table. @throws Unavailable, DatabaseError */
export async function measureTable(
  database: Pick<Database, 'query' | 'readWithin'>,
  kind: StoredKind,
  options: MeasureOptions,
): Promise<MeasuredTable | undefined> {
  const sizes = await readSizes(database, kind.table)
  if (sizes === undefined) return undefined
  const since = options.now - options.days * dayMs
  const sample = await takeSample(database, kind, { sizes, since, samplePages: options.samplePages ?? 2000 })
  const rows = sample.isWhole ? sample.rows : sizes.rows(sample.rows / sample.pages)
  const recent = await countRecent(database, kind, { sample, rows, since })
  const rowsPerDay = recent === undefined ? null : recent.rows / daysOf(recent.oldest, since, options.now)
  const bytes = sizes.tableBytes + sizes.indexBytes
  const bytesPerRow = rows === 0 ? null : bytes / rows
  return {
    rows: Math.round(rows),
    tableBytes: sizes.tableBytes,
    indexBytes: sizes.indexBytes,
    bytesPerRow: bytesPerRow === null ? null : Math.round(bytesPerRow),
    rowsPerDay: rowsPerDay === null ? null : Math.round(rowsPerDay),
    bytesPerDay: rowsPerDay === null ? null : Math.round(rowsPerDay * (bytesPerRow ?? 0)),
    overdueRows: await countOverdue(database, kind, options.now),
    deadRows: sizes.deadRows,
  }
}

/** A table that is younger than the days in question grows by what came in its own days, at least one. */
const daysOf = (oldest: number | null, since: number, now: number): number =>
  Math.max(1, (now - Math.max(since, oldest ?? since)) / dayMs)

interface Sizes {
  readonly pages: number
  readonly tableBytes: number
  readonly indexBytes: number
  readonly deadRows: number
  /** The rows of the whole table, by its last analysis, or else by the rows of a sampled page. */
  rows(sampledRowsPerPage: number): number
}

/** A table with partitions is measured as the sum of its parts: its own statistics count their rows once more. */
const sizesSql = `with parts as (
    select relid::oid as id from pg_partition_tree(to_regclass($1::text)) where isleaf
    union select to_regclass($1::text)::oid)
  select json_build_object(
    'there', to_regclass($1::text) is not null,
    'pages', coalesce(sum(pg_relation_size(c.oid)) / current_setting('block_size')::int, 0),
    'tableBytes', coalesce(sum(pg_table_size(c.oid)), 0),
    'indexBytes', coalesce(sum(pg_indexes_size(c.oid)), 0),
    'analysedRows', sum(greatest(c.reltuples, 0)), 'analysedPages', sum(c.relpages),
    'deadRows', coalesce(sum(s.n_dead_tup), 0)) as sizes
  from parts join pg_class c on c.oid = parts.id left join pg_stat_user_tables s on s.relid = c.oid
  where c.relkind <> 'p'`

async function readSizes(database: Pick<Database, 'query'>, table: string): Promise<Sizes | undefined> {
  const [row] = await database.query<{
    sizes: Omit<Sizes, 'rows'> & { there: boolean; analysedRows: number | null; analysedPages: number | null }
  }>(sizesSql, [table])
  if (!row?.sizes.there) return undefined
  const { analysedRows, analysedPages, ...sizes } = row.sizes
  // As PostgreSQL's planner: rows a page by the last analysis, times the pages of now.
  const analysed = analysedRows && analysedPages ? analysedRows / analysedPages : undefined
  return { ...sizes, rows: (sampled) => sizes.pages * (analysed ?? sampled) }
}

interface Sample {
  /** True when all rows were looked at. */
  readonly isWhole: boolean
  readonly rows: number
  /** How many of the rows are of the last days. */
  readonly recent: number
  /** Milliseconds since 1970. */
  readonly oldest: number | null
  readonly pages: number
}

async function takeSample(
  database: Pick<Database, 'readWithin'>,
  { table, madeAt: made = sql`null::timestamptz` }: StoredKind,
  { sizes, since, samplePages }: { readonly sizes: Sizes; readonly since: number; readonly samplePages: number },
): Promise<Sample> {
  const isWhole = sizes.pages <= samplePages
  const share = isWhole ? 100 : (samplePages / sizes.pages) * 100
  const rows = await database.readWithin<{ sample: Omit<Sample, 'isWhole' | 'pages'> }>(
    sql`select json_build_object('rows', count(*), 'recent', count(*) filter (where ${made} >= ${time(since)}),
        'oldest', ${millisecondsOf(sql`min(${made})`)}) as sample
      from ${sql.raw(table)}${isWhole ? sql`` : sql` tablesample system (${sql.raw(share.toFixed(9))})`}`,
    timeoutMs,
  )
  const { rows: count, recent, oldest } = rows[0]?.sample ?? { rows: 0, recent: 0, oldest: null }
  return { isWhole, rows: count, recent, oldest, pages: isWhole ? sizes.pages : samplePages }
}

const time = (milliseconds: number): SQL => sql`${new Date(milliseconds).toISOString()}::text::timestamptz`

const millisecondsOf = (time: SQLWrapper): SQL => sql`round(extract(epoch from ${time}) * 1000)`

interface Recent {
  readonly rows: number
  readonly oldest: number | null
}

/** What is found by numbers. */
export interface FoundRecent extends Recent {
  /** The first number that is of the last days; the one behind the last number when none is. */
  readonly first: number
}

async function countRecent(
  database: Pick<Database, 'readWithin'>,
  kind: StoredKind,
  { sample, rows, since }: { readonly sample: Sample; readonly rows: number; readonly since: number },
): Promise<Recent | undefined> {
  if (kind.madeAt === undefined) return undefined
  if (sample.isWhole) return { rows: sample.recent, oldest: sample.oldest }
  const { table, madeAt, number } = kind
  const numbered = kind.numbered ?? (number === undefined ? undefined : { table: sql.raw(table), madeAt, number })
  if (numbered) return findRecent(database, numbered, since)
  return { rows: sample.rows === 0 ? 0 : (rows * sample.recent) / sample.rows, oldest: sample.oldest }
}

/**
 * Halves the interval of numbers until it finds the first row of the last days: some forty looks at an index. For rows
 * whose time grows with their number.
 */
export async function findRecent(
  database: Pick<Database, 'readWithin'>,
  { table, number, madeAt }: NumberedRows,
  since: number,
): Promise<FoundRecent> {
  const look = async (order: SQL): Promise<{ number: number; at: number } | undefined> => {
    const rows = await database.readWithin<{ row: { number: number; at: number } }>(
      sql`select json_build_object('number', ${number}, 'at', ${millisecondsOf(madeAt)}) as row
        from ${table} ${order} limit 1`,
      timeoutMs,
    )
    return rows[0]?.row
  }
  const [first, last] = [await look(sql`order by ${number}`), await look(sql`order by ${number} desc`)]
  if (first === undefined || last === undefined) return { rows: 0, oldest: null, first: 1 }
  let [low, high] = [first.number, last.number + 1]
  while (low < high) {
    const middle = Math.floor((low + high) / 2)
    const found = await look(sql`where ${number} >= ${String(middle)}::text::bigint order by ${number}`)
    if (found === undefined || found.at >= since) high = middle
    else low = found.number + 1
  }
  return { rows: last.number + 1 - low, oldest: first.at, first: low }
}

/** Rows that housekeeping should have removed an hour ago, as far as `mostOverdueRows`. */
async function countOverdue(
  database: Pick<Database, 'readWithin'>,
  { table, removedFrom, removedAfterDays = 0, removedIf = sql`true` }: StoredKind,
  now: number,
): Promise<number> {
  if (removedFrom === undefined) return 0
  const by = now - removedAfterDays * dayMs - 3_600_000
  const rows = await database.readWithin<{ count: string }>(
    sql`select count(*)::text as count from (select from ${sql.raw(table)}
      where ${removedFrom} < ${time(by)} and ${removedIf} limit ${mostOverdueRows}) as o`,
    timeoutMs,
  )
  return Number(rows[0]?.count ?? 0)
}
