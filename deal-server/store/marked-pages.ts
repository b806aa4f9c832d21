/**
 * Pages of lists whose positions bear a mark of the database's history: after a failover the same position may lie
 * elsewhere, so it is refused by name, unless the list can tell that it has kept its meaning.
 */
import { sql } from 'drizzle-orm'
import type { Database } from '../../shared/platform/database/database.ts'
import { type History, historySql, readPresentHistory, requirePrimary } from '../../shared/platform/history/history.ts'
import { type Page, type PageRequest, type Position, pageOfRows } from '../../shared/platform/pagination.ts'
import { ProblemError } from '../../shared/platform/problems/errors.ts'
import { positionMark } from '../events/position.ts'

/** The column `history` of the rows of a page. The statement reads it once. */
export const historyColumn = () => sql<History | null>`(select ${sql.raw(historySql)})`.as('history')

/** A row of a page. */
export interface MarkedRow {
  /** Null when the server is not what it was taken for. */
  readonly history: History | null
}

interface MarkedList<Row, Item> {
  /** Reads `limit + 1` rows after a position that `position` made. */
  read(after: Position | undefined): Promise<readonly Row[]>
  item(row: Row): Item
  position(row: Row): Position
  /** True when a position of another history, whose mark it is, means the same here. No position does without it. */
  isKept?(position: Position, mark: string): Promise<boolean>
}

/**
 * Reads a page.
 * @throws ProblemError `outdated-cursor` for a position of another history; Unavailable as `requirePrimary`
 */
export async function readMarkedPage<Row extends MarkedRow, Item>(
  database: Database,
  { limit, after }: PageRequest,
  { read, item, position, isKept }: MarkedList<Row, Item>,
): Promise<Page<Item>> {
  const mark = after?.at(-1)
  const rows = await read(after?.slice(0, -1))
  const isOfPresent = !after || positionMark(await historyOf(database, rows)) === mark
  if (!isOfPresent && !(await isKept?.(after.slice(0, -1), String(mark)))) throw outdatedCursor()
  const positionOf = (row: Row): Position => [...position(row), positionMark(requirePrimary(row.history))]
  return pageOfRows(rows, limit, { item, position: positionOf })
}

/** An empty page has no row to tell. */
const historyOf = async (database: Database, [first]: readonly MarkedRow[]): Promise<History> =>
  first ? requirePrimary(first.history) : readPresentHistory(database)

/** The refusal of a position of another history. */
export function outdatedCursor(): ProblemError {
  const message = 'Another PostgreSQL server has taken over since the cursor was made: begin again without it.'
  return new ProblemError('outdated-cursor', message, {
    members: { errors: [{ pointer: '/cursor', code: 'outdated-cursor', message }] },
  })
}
