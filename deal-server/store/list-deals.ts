/**
 * Lists of deals. What a list is sorted by may change while somebody walks through its pages, and a deal that crosses the cursor would be
 * missed or met twice. So a walk remembers the database's snapshot at its first page. A deal whose value has been changed since is taken out
 * of the index's order and put where it was: the first event that the snapshot does not show says what the value had been. Nothing is kept
 * for a walk; each page costs what it would alone, and a look at the events since the first.
 */
import { and, eq, inArray, isNull, not, or, type SQL, sql } from 'drizzle-orm'
import type { Database, Parameter } from '../../shared/platform/database/database.ts'
import { type Page, type Position, pageOfRows } from '../../shared/platform/pagination.ts'
import type { Deal } from '../domain/deal.ts'
import type { DealEventType } from '../domain/events.ts'
import type { DealFilter, DealList, DealSort, DealSortKey } from '../queries/ports.ts'
import { type Keyset, orderOf, readStretches, stretchesOf } from './keyset.ts'
import { type DealRow, dealOfRow } from './rows.ts'
import { deals, events } from './schema.ts'

interface SortedBy {
  readonly value: SQL
  readonly type: string
  readonly nullable?: boolean
  /** Undefined for what never changes. */
  readonly changes?: {
    /** The events that change it; undefined for all. */
    readonly types?: readonly DealEventType[]
    /** What it was before the first of them, `changed`. */
    readonly before: SQL
  }
}

const sortedBy: Readonly<Record<DealSortKey, SortedBy>> = {
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

interface ListedRow {
  readonly deal: DealRow
  readonly key: string | number | null
  readonly snapshot: string | null
}

/** See `DealRepository.list`. A position is the value sorted by, the deal's id and, where the value may change, the walk's snapshot. */
export async function listDeals(database: Database, { filter, sort, page }: DealList): Promise<Page<Deal>> {
  const { limit, after } = page
  const { changes } = sortedBy[sort.by]
  const snapshot = changes && (after?.[2] ?? undefined)
  const statement = database.drizzle
    .select({
      deal: sql<DealRow>`to_json(listed.deal)`.as('deal'),
      key: sql<ListedRow['key']>`to_json(listed.key)`.as('key'),
      snapshot: sql<string | null>`${sql.raw(changes && !snapshot ? 'pg_current_snapshot()::text' : 'null')}`.as(
        'snapshot',
      ),
    })
    .from(sql`(${listed({ filter, sort, page }, snapshot)}) listed`)
    .orderBy(orderOf(keysetOf(sort, { key: sql`listed.key`, id: sql`listed.id` })))
    .limit(limit + 1)
  const rows: ListedRow[] = isFrequent({ filter, sort }) ? await runPrepared(database, statement) : await statement
  return pageOfRows(rows, limit, {
    item: ({ deal }) => dealOfRow(deal),
    position: (row): Position => [row.key, row.deal.id, ...(changes ? [snapshot ?? row.snapshot] : [])],
  })
}

/**
 * The lists that are asked for most, newest first, all or of one status: planned once, they take half the time. Others are planned for what
 * is asked: the best way to an owner's deals hangs on whose they are.
 */
const isFrequent = ({ filter: { status: _status, ...rest }, sort }: Pick<DealList, 'filter' | 'sort'>): boolean =>
  sort.by === 'createdAt' && Object.values(rest).every((condition) => condition === undefined)

function runPrepared(database: Database, statement: { toSQL(): { sql: string; params: unknown[] } }) {
  const { sql: text, params } = statement.toSQL()
  return database.query<ListedRow>(text, params as Parameter[])
}

const keysetOf = ({ by, descending }: DealSort, { key, id }: { key: SQL; id: SQL }): Keyset => ({
  key: { expression: key, type: sortedBy[by].type },
  nullable: sortedBy[by].nullable === true,
  ties: [{ expression: id, type: 'uuid' }],
  descending,
})

/** `(deal, key, id)` of the page's rows and some more, in no order. */
function listed({ filter, sort, page: { limit, after } }: DealList, snapshot: Position[number] | undefined): SQL {
  const { value, changes } = sortedBy[sort.by]
  const conditions = conditionsOf(filter)
  const isWalk = changes !== undefined && snapshot !== undefined
  // Through an array, whose size no planner guesses to be large: above a guess of 200,000 it would search the changed without hashing them.
  const unchanged = sql`${deals.id} not in (select unnest(array(select deal_id from changed)))`
  const inPlace = readStretches(stretchesOf(keysetOf(sort, { key: value, id: sql`${deals.id}` }), after), {
    limit,
    select: sql`select deals as deal, ${value} as key, ${deals.id} as id from ${deals}`,
    conditions: isWalk ? [...conditions, unchanged] : conditions,
  })
  if (!isWalk) return inPlace
  const moved = stretchesOf(keysetOf(sort, { key: sql`moved.key`, id: sql`moved.id` }), after)
  const placedAsBefore = sql`(select moved.deal, moved.key, moved.id from (
      select deals as deal, ${changes.before} as key, ${deals.id} as id
      from changed join ${deals} on ${deals.id} = changed.deal_id
      where ${and(...conditions, sql`changed.type <> 'deal.created'`)}
    ) moved where ${or(...moved.map(({ condition }) => condition))})`
  return sql`with changed as materialized (${changedSince(String(snapshot), changes.types)})
    ${inPlace} union all ${placedAsBefore}`
}

/** The first event of each deal that the snapshot does not show, of those that count. A deal made since has its creation here. */
function changedSince(snapshot: string, types: readonly DealEventType[] | undefined): SQL {
  const since = sql`${snapshot}::text::pg_snapshot`
  const counting = types && inArray(events.type, ['deal.created', ...types])
  return sql`select distinct on (${events.dealId}) ${events.dealId}, ${events.sequence}, ${events.type}, ${events.data}
    from ${events}
    where ${and(sql`${events.xid} >= pg_snapshot_xmin(${since})`, not(sql`pg_visible_in_snapshot(${events.xid}, ${since})`), counting)}
    order by ${events.dealId}, ${events.sequence}`
}

function conditionsOf(filter: DealFilter): SQL[] {
  const { status, held, ownerId, currency, priceMin, priceMax, completionFrom, completionTo, q } = filter
  const conditions = [
    isNull(deals.deletedAt),
    status !== undefined && eq(deals.status, status),
    held !== undefined && eq(deals.held, held),
    ownerId !== undefined && eq(sql`lower(${deals.ownerId} collate "C")`, ownerId.toLowerCase()),
    currency !== undefined && eq(deals.currency, currency),
    priceMin !== undefined && sql`${deals.price} >= ${String(priceMin)}::text::bigint`,
    priceMax !== undefined && sql`${deals.price} <= ${String(priceMax)}::text::bigint`,
    completionFrom !== undefined && sql`${deals.completionDate} >= ${completionFrom}::text::date`,
    completionTo !== undefined && sql`${deals.completionDate} <= ${completionTo}::text::date`,
    // No index: that of pg_trgm is an extension, which the embedded engine lacks. Reads in the list's order until the page is full.
    q !== undefined && sql`${deals.name} ilike ${`%${q.replace(/[\\%_]/g, '\\$&')}%`}`,
  ]
  return conditions.filter((condition) => condition !== false)
}
