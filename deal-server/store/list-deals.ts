/**
 * Lists of deals. The sort key of a deal may change while a client reads page after page. Then the deal could cross the
 * cursor and appear twice or never. So the cursor has the database's snapshot of the first page. A deal that was
 * changed since then is removed from the order of the index and inserted at its former position: the first event that
 * the snapshot does not see has the former value. The server stores nothing for a walk. A page costs as much as a
 * single read, plus a read of the events since the first page.
 */
import { and, inArray, not, or, type SQL, sql } from 'drizzle-orm'
import type { Parameter, Reads } from '../../shared/platform/database/database.ts'
import type { Page, Position } from '../../shared/platform/pagination.ts'
import type { Deal } from '../domain/deal.ts'
import type { DealEventType } from '../domain/events.ts'
import type { DealList, DealSort, DealSortKey } from '../queries/ports.ts'
import { conditionsOf } from './deal-conditions.ts'
import { type Keyset, orderOf, rangesOf, readRanges } from './keyset.ts'
import { readMarkedPage, type TimelineRow, timelineColumn } from './marked-pages.ts'
import { type DealRow, dealOfRow } from './rows.ts'
import { deals, events } from './schema.ts'

interface SortKey {
  readonly value: SQL
  readonly type: string
  readonly nullable?: boolean
  /** Undefined for a value that never changes. */
  readonly changes?: {
    /** The events that change the value; undefined for all events. */
    readonly types?: readonly DealEventType[]
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
      before: sql`coalesce((select earlier.occurred_at from ${events} earlier
        where earlier.deal_id = changed.deal_id and earlier.sequence = changed.sequence - 1), ${deals.createdAt})`,
    },
  },
  name: {
    value: sql`${deals.name} collate "C"`,
    type: 'text',
    changes: { types: ['deal.renamed'], before: sql`(changed.data ->> 'old') collate "C"` },
  },
  price: {
    value: sql`${deals.price}`,
    type: 'bigint',
    changes: { types: ['deal.price-changed'], before: sql`(changed.data ->> 'old')::bigint` },
  },
  completionDate: {
    value: sql`${deals.completionDate}`,
    type: 'date',
    nullable: true,
    changes: { types: ['deal.completion-date-changed'], before: sql`(changed.data ->> 'old')::date` },
  },
  status: {
    value: sql`${deals.status} collate "C"`,
    type: 'text',
    changes: {
      types: ['deal.completed', 'deal.cancelled', 'deal.reopened'],
      before: sql`coalesce(changed.data ->> 'from', 'open') collate "C"`,
    },
  },
  ownerId: {
    value: sql`${deals.ownerId} collate "C"`,
    type: 'text',
    changes: { types: ['deal.owner-assigned'], before: sql`(changed.data ->> 'old') collate "C"` },
  },
}

interface ListedRow extends TimelineRow {
  readonly deal: DealRow
  readonly key: string | number | null
  readonly snapshot: string | null
}

/**
 * Reads a page of deals, see `DealReader.list`. A position has the sort key, the deal's id and, for a key that can
 * change, the snapshot of the walk.
 */
export function listDeals(database: Reads, list: DealList): Promise<Page<Deal>> {
  const { changes } = sortKeys[list.sort.by]
  return readMarkedPage(database, list.page, {
    read: (after) => readDeals(database, { ...list, page: { ...list.page, after } }),
    item: ({ deal }) => dealOfRow(deal),
    position: (row) => [row.key, row.deal.id, ...(changes ? [row.snapshot] : [])],
  })
}

/** True for a list whose cursors have the snapshot of the first page. */
export const isWalk = ({ sort }: Pick<DealList, 'sort'>): boolean => sortKeys[sort.by].changes !== undefined

/** The rows of a page. Those of a walk carry the snapshot of its first page. */
async function readDeals(database: Reads, { filter, sort, page }: DealList): Promise<ListedRow[]> {
  const { limit, after } = page
  const { changes } = sortKeys[sort.by]
  const snapshot = changes && (after?.[2] ?? undefined)
  const statement = database.drizzle
    .select({
      deal: sql<DealRow>`to_json(listed.deal)`.as('deal'),
      key: sql<ListedRow['key']>`to_json(listed.key)`.as('key'),
      snapshot: sql<string | null>`${sql.raw(changes && !snapshot ? 'pg_current_snapshot()::text' : 'null')}`.as(
        'snapshot',
      ),
      timeline: timelineColumn,
    })
    .from(sql`(${listed({ filter, sort, page }, snapshot)}) listed`)
    .orderBy(orderOf(keysetOf(sort, { key: sql`listed.key`, id: sql`listed.id` })))
    .limit(limit + 1)
  const rows: ListedRow[] = isFrequent({ filter, sort }) ? await runPrepared(database, statement) : await statement
  return snapshot === undefined ? rows : rows.map((row) => ({ ...row, snapshot: String(snapshot) }))
}

/**
 * True for the most frequent lists: newest first, all deals or one status. With a prepared plan they take half the
 * time. Other lists are planned for each request: the best plan for an owner's deals depends on the owner.
 */
const isFrequent = ({ filter: { status: _status, ...rest }, sort }: Pick<DealList, 'filter' | 'sort'>): boolean =>
  sort.by === 'createdAt' && Object.values(rest).every((condition) => condition === undefined)

function runPrepared(database: Reads, statement: { toSQL(): { sql: string; params: unknown[] } }) {
  const { sql: text, params } = statement.toSQL()
  return database.query<ListedRow>(text, params as Parameter[])
}

const keysetOf = ({ by, descending }: DealSort, { key, id }: { key: SQL; id: SQL }): Keyset => ({
  key: { expression: key, type: sortKeys[by].type },
  nullable: sortKeys[by].nullable === true,
  ties: [{ expression: id, type: 'uuid' }],
  descending,
})

/** Selects `(deal, key, id)` of the rows of the page and some more, in no order. */
function listed({ filter, sort, page: { limit, after } }: DealList, snapshot: Position[number] | undefined): SQL {
  const { value, changes } = sortKeys[sort.by]
  const conditions = conditionsOf(filter)
  const hasSnapshot = changes !== undefined && snapshot !== undefined
  // The planner never estimates an array as large. With an estimate above 200,000 rows it would search without a hash.
  const unchanged = sql`${deals.id} not in (select unnest(array(select deal_id from changed)))`
  const inPlace = readRanges(rangesOf(keysetOf(sort, { key: value, id: sql`${deals.id}` }), after), {
    limit,
    select: sql`select deals as deal, ${value} as key, ${deals.id} as id from ${deals}`,
    conditions: hasSnapshot ? [...conditions, unchanged] : conditions,
  })
  if (!hasSnapshot) return inPlace
  const moved = rangesOf(keysetOf(sort, { key: sql`moved.key`, id: sql`moved.id` }), after)
  const placedAsBefore = sql`(select moved.deal, moved.key, moved.id from (
      select deals as deal, ${changes.before} as key, ${deals.id} as id
      from changed join ${deals} on ${deals.id} = changed.deal_id
      where ${and(...conditions, sql`changed.type <> 'deal.created'`)}
    ) moved where ${or(...moved.map(({ condition }) => condition))})`
  return sql`with changed as materialized (${changedSince(String(snapshot), changes.types)})
    ${inPlace} union all ${placedAsBefore}`
}

/**
 * The first relevant event of each deal that the snapshot does not see. For a deal that is newer, it is the creation.
 */
function changedSince(snapshot: string, types: readonly DealEventType[] | undefined): SQL {
  const since = sql`${snapshot}::text::pg_snapshot`
  const counting = types && inArray(events.type, ['deal.created', ...types])
  return sql`select distinct on (${events.dealId}) ${events.dealId}, ${events.sequence}, ${events.type}, ${events.data}
    from ${events}
    where ${and(
      sql`${events.xid} >= pg_snapshot_xmin(${since})`,
      not(sql`pg_visible_in_snapshot(${events.xid}, ${since})`),
      counting,
    )}
    order by ${events.dealId}, ${events.sequence}`
}
