/**
 * Keyset pagination: a page begins after the last row of the page before, which is found by an index instead of an
 * offset. The sort key may be null; rows without it come last in both directions. One ascending index is enough: rows
 * with a key and rows without it are two ranges, and each range is read through the index, forwards or backwards.
 */
import { and, type SQL, sql } from 'drizzle-orm'
import type { Position } from '../../shared/platform/pagination.ts'

/** A value by which rows are sorted or distinguished. */
export interface KeysetColumn {
  readonly expression: SQL
  /** The PostgreSQL type of the value; positions are cast to it. */
  readonly type: string
}

/** The order of a list. */
export interface Keyset {
  readonly key: KeysetColumn
  /** True when the key may be null. */
  readonly nullable: boolean
  /** Columns that make the order of rows unique, together with the key. Never null. */
  readonly ties: readonly KeysetColumn[]
  readonly descending: boolean
}

/** Adjacent rows of an index: their condition and their order. */
export interface IndexRange {
  readonly condition: SQL | undefined
  readonly order: SQL
}

const cast = (value: string | number | null | undefined, { type }: KeysetColumn): SQL =>
  sql`${String(value)}::text::${sql.raw(type)}`

/** A list of columns or values, for a row comparison or an order. */
const list = (parts: readonly SQL[]): SQL => sql.join([...parts], sql`, `)

/** The ranges of the rows after `after`, in order. `after` is the key followed by the ties. */
export function rangesOf({ key, nullable, ties, descending }: Keyset, after: Position | undefined): IndexRange[] {
  const behind = sql.raw(descending ? '<' : '>')
  const columns = [key, ...ties]
  const order = list(columns.map(({ expression }) => sql`${expression} ${sql.raw(descending ? 'desc' : 'asc')}`))
  const beyond = (compared: readonly KeysetColumn[], values: Position): SQL => {
    const [expressions, bounds] = [
      compared.map(({ expression }) => expression),
      compared.map((column, index) => cast(values[index], column)),
    ]
    return sql`(${list(expressions)}) ${behind} (${list(bounds)})`
  }
  const withKey: IndexRange = {
    condition: and(nullable ? sql`${key.expression} is not null` : undefined, after && beyond(columns, after)),
    order,
  }
  if (!nullable) return [withKey]
  const isAmongNulls = after !== undefined && after[0] === null
  const withoutKey: IndexRange = {
    condition: and(sql`${key.expression} is null`, isAmongNulls ? beyond(ties, after.slice(1)) : undefined),
    order,
  }
  return isAmongNulls ? [withoutKey] : [withKey, withoutKey]
}

interface Reading {
  readonly limit: number
  /** The columns and tables: `select … from …`. */
  readonly select: SQL
  /** The conditions of all ranges. */
  readonly conditions: readonly (SQL | undefined)[]
}

/** Selects up to `limit + 1` rows of each range, in no order. The second range is read only when it is needed. */
export function readRanges(ranges: readonly IndexRange[], { limit, select, conditions }: Reading): SQL {
  const isNeeded = sql`(select count(*) from first_range) <= ${sql.raw(String(limit))}`
  const [first, second] = ranges.map(
    ({ condition, order }) => sql`${select}
      where ${and(...conditions, condition)}
      order by ${order} limit ${sql.raw(String(limit + 1))}`,
  )
  if (!second) return sql`(${first})`
  return sql`(with first_range as materialized (${first})
    select * from first_range union all select * from (${second}) second_range where ${isNeeded})`
}

/** The order of the rows of all ranges. */
export function orderOf({ key, nullable, ties, descending }: Keyset): SQL {
  const direction = sql.raw(descending ? 'desc' : 'asc')
  const columns = [key, ...ties].map(({ expression }) => sql`${expression} ${direction}`)
  return list(nullable ? [sql`(${key.expression} is null)`, ...columns] : columns)
}
