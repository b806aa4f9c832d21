/**
 * Merges the pages of one list from all shards. A position is the key of the last item, which is the same on every
 * shard because it is made of values, and behind it what each shard adds of its own: a mark of its timeline, and what
 * its first page saw.
 */
import type { Page, PageRequest, Position } from '../../../shared/platform/pagination.ts'
import { outdated } from '../marked-pages.ts'
import { rfc3339OfRow } from '../rows.ts'

/** How the values of a position are compared, as PostgreSQL does. */
export interface KeyPart {
  /** `text`: by its bytes, as `collate "C"`. Dates and ids are ordered as texts. */
  readonly type: 'text' | 'time' | 'number'
  readonly descending: boolean
}

/** The order of a list; null in the first part comes last in both directions. */
export type ListOrder = readonly KeyPart[]

/** Reads the page of one shard, with all positions. */
export type ReadPage<Item> = (page: PageRequest) => Promise<Page<Item>>

interface Found<Item> {
  readonly item: Item
  readonly shard: number
  readonly position: Position
}

/** Reads a page of the list over all shards. @throws ProblemError `outdated-cursor`; what the shards throw */
export async function mergePages<Item>(
  shards: readonly ReadPage<Item>[],
  { limit, after }: PageRequest,
  order: ListOrder,
): Promise<Page<Item>> {
  const starts = after ? startsOf(after, order.length, shards.length) : shards.map(() => undefined)
  const pages = await Promise.all(
    shards.map(async (read, shard) => {
      const start = starts[shard]
      return start === null ? undefined : read({ limit, after: start, everyPosition: true })
    }),
  )
  const found = pages.flatMap((page, shard) => foundOn(page, shard))
  found.sort((one, other) => compareKeys(one.position, other.position, order))
  const taken = found.slice(0, limit)
  const last = taken.at(-1)
  const isLast = found.length <= limit && pages.every((page) => page?.next === undefined)
  const items = taken.map(({ item }) => item)
  if (last === undefined || isLast) return { items, next: undefined }
  const rests = pages.map((page, shard) => {
    const used = taken.filter((one) => one.shard === shard).length
    const isRead = page === undefined || (page.next === undefined && used === page.items.length)
    return isRead ? null : JSON.stringify(page.positions?.[0]?.slice(order.length) ?? [])
  })
  return { items, next: [...last.position.slice(0, order.length), ...rests] }
}

function foundOn<Item>(page: Page<Item> | undefined, shard: number): Found<Item>[] {
  const { items = [], positions = [] } = page ?? {}
  return items.flatMap((item, index) => {
    const position = positions[index]
    return position === undefined ? [] : [{ item, shard, position }]
  })
}

/** The position on each shard; null for a shard that has been read to its end. */
function startsOf(after: Position, keys: number, shards: number): (Position | null)[] {
  const rests = after.slice(keys)
  if (rests.length !== shards) throw outdated()
  return rests.map((rest) => {
    if (rest === null) return null
    // A cursor of a server without shards ends with a mark instead.
    if (typeof rest !== 'string' || !rest.startsWith('[')) throw outdated()
    return [...after.slice(0, keys), ...(JSON.parse(rest) as Position)]
  })
}

function compareKeys(one: Position, other: Position, order: ListOrder): number {
  for (const [index, { type, descending }] of order.entries()) {
    const [a, b] = [one[index] ?? null, other[index] ?? null]
    if (a === null || b === null) {
      if (a === b) continue
      return a === null ? 1 : -1
    }
    const difference = compareValues(a, b, type)
    if (difference !== 0) return descending ? -difference : difference
  }
  return 0
}

function compareValues(a: string | number, b: string | number, type: KeyPart['type']): number {
  if (type === 'number') return Number(a) - Number(b)
  const [one, other] = type === 'time' ? [rfc3339OfRow(String(a)), rfc3339OfRow(String(b))] : [String(a), String(b)]
  return Buffer.compare(Buffer.from(one), Buffer.from(other))
}
