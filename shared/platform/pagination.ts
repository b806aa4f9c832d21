/** Pages of lists, as stores and HTTP exchange them. */

/** The position where a page ended. Only the store that made it knows its meaning. */
export type Position = readonly (string | number | null)[]

/** A page that is asked for. */
export interface PageRequest {
  /** The largest number of items. */
  readonly limit: number
  /** The position where the previous page ended; undefined for the first page. */
  readonly after: Position | undefined
}

/** A page. */
export interface Page<Item> {
  readonly items: readonly Item[]
  /** The position for the next page; undefined on the last page. */
  readonly next: Position | undefined
}

/** Makes a page of `rows`, which were read with `limit + 1`. */
export function pageOfRows<Row, Item>(
  rows: readonly Row[],
  limit: number,
  { item, position }: { item(row: Row): Item; position(row: Row): Position },
): Page<Item> {
  const last = rows.length > limit ? rows[limit - 1] : undefined
  return { items: rows.slice(0, limit).map(item), next: last === undefined ? undefined : position(last) }
}
