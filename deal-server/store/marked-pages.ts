/**
 * Pages of lists whose positions bear a mark of the database's timeline: after a failover the same position may lie
 * elsewhere, so it is refused by name, unless the list can tell that it has kept its meaning.
 */
import { sql } from 'drizzle-orm'
import type { Reads } from '../../shared/platform/database/database.ts'
import { isToken } from '../../shared/platform/database/log-position.ts'
import { readTimeline, requireTimeline, timelineMark, timelineSql } from '../../shared/platform/database/timeline.ts'
import { type Page, type PageRequest, type Position, pageOfRows } from '../../shared/platform/pagination.ts'
import { ProblemError } from '../../shared/platform/problems/errors.ts'

/** The column `timeline` of the rows of a page. The statement reads it once. */
export const timelineColumn = sql<string | null>`(select ${sql.raw(timelineSql)})`.as('timeline')

/** A row of a page. */
export interface TimelineRow {
  /** Null on a standby. */
  readonly timeline: string | null
}

/** How a list reads a page, and what its rows become. */
export interface MarkedList<Row, Item> {
  /** Reads `limit + 1` rows after a position that `position` made. */
  read(after: Position | undefined): Promise<readonly Row[]>
  item(row: Row): Item
  position(row: Row): Position
  /** True when a position of another timeline, whose mark it is, means the same here. No position does without it. */
  isKept?(position: Position, mark: string): Promise<boolean>
}

const markForm = /^[0-9a-f]{12}$/

/**
 * Reads a page.
 * @throws ProblemError `outdated-cursor` for a position of another timeline; Unavailable on a standby
 */
export async function readMarkedPage<Row extends TimelineRow, Item>(
  database: Pick<Reads, 'query' | 'timeline'>,
  { limit, after: given }: PageRequest,
  { read, item, position, isKept }: MarkedList<Row, Item>,
): Promise<Page<Item>> {
  // What readers on replicas add (`fresh-reads.ts`) may reach a server without replicas.
  const after = isToken(given?.at(-1)) ? given?.slice(0, -1) : given
  const mark = after?.at(-1)
  if (after && !(typeof mark === 'string' && markForm.test(mark))) throw outdated()
  const rows = await read(after?.slice(0, -1))
  const isOfPresent = !after || timelineMark(await timelineOf(database, rows)) === mark
  if (!isOfPresent && !(await isKept?.(after.slice(0, -1), String(mark)))) throw outdated()
  const positionOf = (row: Row): Position => [
    ...position(row),
    timelineMark(requireTimeline(row.timeline ?? database.timeline)),
  ]
  return pageOfRows(rows, limit, { item, position: positionOf })
}

/** An empty page has no row to tell. */
const timelineOf = async (
  database: Pick<Reads, 'query' | 'timeline'>,
  [first]: readonly TimelineRow[],
): Promise<string> => database.timeline ?? (first ? requireTimeline(first.timeline) : readTimeline(database))

function outdated(): ProblemError {
  const message = 'Another PostgreSQL server has taken over since the cursor was made: begin again without it.'
  return new ProblemError('outdated-cursor', message, {
    members: { errors: [{ pointer: '/cursor', code: 'outdated-cursor', message }] },
  })
}
