/**
 * Lists of deals. The sort key of a deal may change while a client reads page after page. Then the deal could cross the
 * cursor and appear twice or never. So the cursor says what the first page saw of the log of events. A deal that was
 * changed since then is removed from the order of the index and inserted at its former position: the first event since
 * then has the former value. The server stores nothing for a walk. A page costs as much as a single read, plus a read
 * of the events since the first page.
 */
import { and, inArray, or, type SQL, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/pg-core'
import type { Database } from '../../shared/platform/database/database.ts'
import { statementOf } from '../../shared/platform/database/statement.ts'
import type { Page, Position } from '../../shared/platform/pagination.ts'
import type { Deal } from '../domain/deal.ts'
import { type LogHistory, wasThereIn } from '../events/position.ts'
import type { DealList, DealSort, DealSortKey } from '../queries/ports.ts'
import { e } from './aliases.ts'
import {
  type BeginOfWalk,
  beginColumn,
  beginOfText,
  eventsSince,
  hasPositionStatement,
  textOfBegin,
} from './begin-of-walk.ts'
import { conditionsOf } from './deal-conditions.ts'
import { type Keyset, orderOf, rangesOf, readRanges } from './keyset.ts'
import { historyColumn, type MarkedRow, outdatedCursor, readMarkedPage } from './marked-pages.ts'
import { type DealRow, dealOfRow } from './rows.ts'
import { deals, events } from './schema.ts'

const earlier = alias(events, 'earlier')
/** The first relevant event of each deal since a walk began. */
const changed = alias(events, 'changed')

interface SortKey {
  readonly value: SQL
  readonly type: string
  readonly nullable?: boolean
  /** Undefined for a value that never changes. */
  readonly changes?: {
    /** The events that change the value; undefined for all events. */
    readonly types?: readonly string[]
    /** The value before the first of these events, `changed`. */
    readonly before: SQL
  }
}

const sortKeys: Readonly<Record<DealSortKey, SortKey>> = {
  createdAt: { value: sql`${deals.createdAt}`, type: 'timestamptz' },
  updatedAt: {
    value: sql`${deals.updatedAt}`,
    type: 'timestamptz',
    changes: {
      before: sql`coalesce((select ${earlier.occurredAt} from ${events} ${earlier}
        where ${earlier.dealId} = ${changed.dealId} and ${earlier.bucket} = ${deals.bucket}
          and ${earlier.sequence} = ${changed.sequence} - 1), ${deals.createdAt})`,
    },
  },
  name: {
    value: sql`${deals.name} collate "C"`,
    type: 'text',
    changes: { types: ['deal.renamed'], before: sql`(${changed.data} ->> 'old') collate "C"` },
  },
  price: {
    value: sql`${deals.price}`,
    type: 'bigint',
    changes: { types: ['deal.price-changed'], before: sql`(${changed.data} ->> 'old')::bigint` },
  },
  completionDate: {
    value: sql`${deals.completionDate}`,
    type: 'date',
    nullable: true,
    changes: { types: ['deal.completion-date-changed'], before: sql`(${changed.data} ->> 'old')::date` },
  },
  status: {
    value: sql`${deals.status} collate "C"`,
    type: 'text',
    changes: {
      types: ['deal.completed', 'deal.cancelled', 'deal.reopened'],
      before: sql`coalesce(${changed.data} ->> 'from', 'open') collate "C"`,
    },
  },
  ownerId: {
    value: sql`${deals.ownerId} collate "C"`,
    type: 'text',
    changes: { types: ['deal.owner-assigned'], before: sql`(${changed.data} ->> 'old') collate "C"` },
  },
}

interface ListedRow extends MarkedRow {
  readonly deal: DealRow
  readonly key: string | number | null
  readonly begin: BeginOfWalk
}

/** With this many buckets beyond the last slice, a slice is made first, so that cursors stay short. */
const maxBeyond = 64

/**
 * Reads a page of deals, see `DealReader.list`. A position has the sort key, the deal's id and the first page of the
 * walk. `slice` makes a slice, where the database can be written.
 */
export function listDeals(database: Database, list: DealList, slice: () => Promise<unknown>): Promise<Page<Deal>> {
  return readMarkedPage(database, list.page, {
    read: async (after) => {
      const read = () => readDeals(database, { ...list, page: { ...list.page, after } })
      const rows = await read()
      const [first] = rows
      const isLong = after === undefined && (first?.begin.beyond.length ?? 0) > maxBeyond
      if (!isLong || rows.length <= list.page.limit) return rows
      await slice()
      return read()
    },
    item: ({ deal }) => dealOfRow(deal),
    position: ({ key, deal, begin }) => [key, deal.id, textOfBegin(begin)],
    isKept: async (position, mark) => {
      const begin = beginOf(position)
      if (begin.beyond.length > 0) return false
      type Row = { readonly hasPosition: boolean; readonly histories: readonly LogHistory[] }
      const [row] = await database.query<Row>(...hasPositionStatement({ position: begin.position }))
      return row?.hasPosition === true && wasThereIn(mark, begin, row.histories)
    },
  })
}

/** True for a list whose order can change during a walk. */
const isWalk = ({ sort }: Pick<DealList, 'sort'>): boolean => sortKeys[sort.by].changes !== undefined

/** What the first page saw, as a position has it. @throws ProblemError `outdated-cursor` for another text */
function beginOf([, , text]: Position): BeginOfWalk {
  const begin = beginOfText(String(text))
  if (!begin) throw outdatedCursor()
  return begin
}

/** The rows of a page. All carry the first page of the walk. */
async function readDeals(database: Database, { filter, sort, page }: DealList): Promise<ListedRow[]> {
  const { limit, after } = page
  const begin = after && beginOf(after)
  const statement = database.drizzle
    .select({
      deal: sql<DealRow>`to_json(listed.deal)`.as('deal'),
      key: sql<ListedRow['key']>`to_json(listed.key)`.as('key'),
      begin: sql<BeginOfWalk>`${begin ? sql.raw('null::json') : beginColumn(isWalk({ sort }))}`.as('begin'),
      history: historyColumn(),
    })
    .from(sql`(${listed({ filter, sort, page }, begin)}) listed`)
    .orderBy(orderOf(keysetOf(sort, { key: sql`listed.key`, id: sql`listed.id` })))
    .limit(limit + 1)
  const rows: ListedRow[] = isFrequent({ filter, sort })
    ? await database.query<ListedRow>(...statementOf(statement))
    : await statement
  return begin ? rows.map((row) => ({ ...row, begin })) : rows
}

/**
 * True for the most frequent lists: newest first, all deals or one status. With a prepared plan they take half the
 * time. Other lists are planned for each request: the best plan for an owner's deals depends on the owner.
 */
const isFrequent = ({ filter: { status: _status, ...rest }, sort }: Pick<DealList, 'filter' | 'sort'>): boolean =>
  sort.by === 'createdAt' && Object.values(rest).every((condition) => condition === undefined)

const keysetOf = ({ by, descending }: DealSort, { key, id }: { key: SQL; id: SQL }): Keyset => ({
  key: { expression: key, type: sortKeys[by].type },
  nullable: sortKeys[by].nullable === true,
  ties: [{ expression: id, type: 'uuid' }],
  descending,
})

/** Selects `(deal, key, id)` of the rows of the page and some more, in no order. */
function listed({ filter, sort, page: { limit, after } }: DealList, begin: BeginOfWalk | undefined): SQL {
  const { value, changes } = sortKeys[sort.by]
  const conditions = conditionsOf(filter)
  const isMoving = changes !== undefined && begin !== undefined
  // The planner never estimates an array as large. With an estimate above 200,000 rows it would search without a hash.
  const unchanged = sql`${deals.id} not in (select unnest(array(select ${changed.dealId} from changed)))`
  const inPlace = readRanges(rangesOf(keysetOf(sort, { key: value, id: sql`${deals.id}` }), after), {
    limit,
    select: sql`select deals as deal, ${value} as key, ${deals.id} as id from ${deals}`,
    conditions: isMoving ? [...conditions, unchanged] : conditions,
  })
  if (!isMoving) return inPlace
  const moved = rangesOf(keysetOf(sort, { key: sql`moved.key`, id: sql`moved.id` }), after)
  const placedAsBefore = sql`(select moved.deal, moved.key, moved.id from (
      select deals as deal, ${changes.before} as key, ${deals.id} as id
      from changed join ${deals} on ${deals.id} = ${changed.dealId} and ${deals.bucket} = ${changed.bucket}
      where ${and(...conditions, sql`${changed.type} <> 'deal.created'`)}
    ) moved where ${or(...moved.map(({ condition }) => condition))})`
  return sql`with ${eventsSince(begin)}, changed as materialized (${changedIn(changes.types)})
    ${inPlace} union all ${placedAsBefore}`
}

/** The first relevant one of these events of each deal. For a deal that is newer, it is the creation. */
const changedIn = (types: readonly string[] | undefined): SQL =>
  sql`select distinct on (${e.dealId}) ${e.dealId}, ${e.bucket}, ${e.sequence}, ${e.type}, ${e.data} from since e
    where ${types === undefined ? sql`true` : inArray(e.type, ['deal.created', ...types])}
    order by ${e.dealId}, ${e.sequence}`
