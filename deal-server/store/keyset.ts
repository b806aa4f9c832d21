/**
 * Paging by keyset: a page begins behind the last row of the one before, found through an index instead of counted. The value that a list
 * is sorted by may be missing; rows without it come last in either direction. One index in ascending order serves all of it: rows with the
 * value and rows without it are two stretches, each of them read through the index, forwards or backwards.
 */
import { and, type SQL, sql } from 'drizzle-orm'
import type { Position } from '../../shared/platform/pagination.ts'

/** A value that rows are sorted or told apart by. */
export interface KeysetColumn {
  readonly expression: SQL
  /** Its type, to which positions are cast. */
  readonly type: string
}

export interface Keyset {
  readonly key: KeysetColumn
  /** True when rows may lack the key. */
  readonly nullable: boolean
  /** Together with the key they tell every two rows apart. Never null. */
  readonly ties: readonly KeysetColumn[]
  readonly descending: boolean
}

/** Rows next to one another in an index: which they are, and the order they come in. */
export interface Stretch {
  readonly condition: SQL | undefined
  readonly order: SQL
}

const cast = (value: string | number | null | undefined, { type }: KeysetColumn): SQL =>
  sql`${String(value)}::text::${sql.raw(type)}`

/** The members of a row comparison or an order. */
const list = (parts: readonly SQL[]): SQL => sql.join([...parts], sql`, `)

/** The stretches of the rows behind `after`, in order; `after` is the key and then the ties. */
export function stretchesOf({ key, nullable, ties, descending }: Keyset, after: Position | undefined): Stretch[] {
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
  const withKey: Stretch = {
    condition: and(nullable ? sql`${key.expression} is not null` : undefined, after && beyond(columns, after)),
    order,
  }
  if (!nullable) return [withKey]
  const isAmongNulls = after !== undefined && after[0] === null
  const withoutKey: Stretch = {
    condition: and(sql`${key.expression} is null`, isAmongNulls ? beyond(ties, after.slice(1)) : undefined),
    order,
  }
  return isAmongNulls ? [withoutKey] : [withKey, withoutKey]
}

interface Reading {
  readonly limit: number
  /** The columns and where they come from: `select … from …`. */
  readonly select: SQL
  /** Which rows, whatever the stretch. */
  readonly conditions: readonly (SQL | undefined)[]
}

/** The rows of all stretches, one beyond `limit` at least, in no order. The second is not looked at when the first is enough. */
export function readStretches(stretches: readonly Stretch[], { limit, select, conditions }: Reading): SQL {
  const [first, second] = stretches.map(
    ({ condition, order }, index) => sql`${select}
      where ${and(...conditions, condition, index === 0 ? undefined : sql`(select count(*) from stretch) <= ${sql.raw(String(limit))}`)}
      order by ${order} limit ${sql.raw(String(limit + 1))}`,
  )
  if (!second) return sql`(${first})`
  return sql`(with stretch as materialized (${first}) select * from stretch union all (${second}))`
}

/** The order over all stretches. */
export function orderOf({ key, nullable, ties, descending }: Keyset): SQL {
  const direction = sql.raw(descending ? 'desc' : 'asc')
  const columns = [key, ...ties].map(({ expression }) => sql`${expression} ${direction}`)
  return list(nullable ? [sql`(${key.expression} is null)`, ...columns] : columns)
}
