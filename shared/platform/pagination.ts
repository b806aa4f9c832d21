/** A list a page at a time, as stores and HTTP hand pages to each other. */

/** Where a page ended. Only the store that made it knows what it means. */
export type Position = readonly (string | number | null)[]

export interface PageRequest {
  /** At most so many items. */
  readonly limit: number
  /** Where the page before ended; undefined for the first page. */
  readonly after: Position | undefined
}

export interface Page<Item> {
  readonly items: readonly Item[]
  /** For the next page; undefined on the last one. */
  readonly next: Position | undefined
}

/** The page in rows that were read one beyond `limit`. */
export function pageOfRows<Row, Item>(
  rows: readonly Row[],
  limit: number,
  { item, position }: { item(row: Row): Item; position(row: Row): Position },
): Page<Item> {
  const last = rows.length > limit ? rows[limit - 1] : undefined
  return { items: rows.slice(0, limit).map(item), next: last === undefined ? undefined : position(last) }
}
