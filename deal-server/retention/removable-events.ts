/**
 * Events that may leave the database: those of purged deals, but for the last one of each deal. That one keeps the id
 * of the deal taken, and the end of the log in its place. Deals that exist keep all their events: they are the history.
 */
import { type SQL, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/pg-core'
import type { Database } from '../../shared/platform/database/database.ts'
import { type JsonRow, namesOf, textOf } from '../../shared/platform/database/statement.ts'
import { b, d, e, s, w } from '../store/aliases.ts'
import { eventsBetween } from '../store/event-statements.ts'
import { deals, eventSlices, events, webhookBlocked, webhooks } from '../store/schema.ts'

/** An event with its position, and its row as PostgreSQL makes JSON of it, with every column that it has. */
export type EventRow = JsonRow<typeof events> & { readonly position: number }

/** Which events are read. */
export interface EventSelection {
  /** Events that happened before this time, in milliseconds since 1970. */
  readonly before: number
  /** True: events of every deal, to be copied; false: those that may be removed. */
  readonly all: boolean
}

const l = alias(events, 'l')
const r = alias(events, 'r')

/** True for a row of `deals.events e` whose deal is purged and has a later event. */
const isOver = sql`not exists (select 1 from ${deals} ${d} where ${d.id} = ${e.dealId} and ${d.bucket} = ${e.bucket})
  and exists (select 1 from ${events} ${l}
    where ${l.dealId} = ${e.dealId} and ${l.bucket} = ${e.bucket} and ${l.sequence} > ${e.sequence})`
/** True for an event with its position, `e`, at which no webhook stands and for which none waits. */
const isFree = sql`not exists (select 1 from ${webhooks} ${w} where ${w.position} = e.position)
  and not exists (select 1 from ${webhookBlocked} ${b} where ${b.dealId} = ${e.dealId})`

/** How many positions one statement looks at. */
const windowSize = 10_000
const timeoutMs = 60_000
const dayMs = 86_400_000

/** Reads events in the order of their positions, some thousand positions at a time. @throws Unavailable */
export async function* readEvents(
  database: Pick<Database, 'readWithin'>,
  { before, all }: EventSelection,
  { signal, onProgress }: { readonly signal: AbortSignal; readonly onProgress?: (done: number, total: number) => void },
): AsyncGenerator<EventRow> {
  const { first, last } = await range(database, before)
  const [over, free] = [isOver, isFree].map((condition) => (all ? sql`true` : condition))
  for (let from = first - 1; from < last; from += windowSize) {
    signal.throwIfAborted()
    const upTo = Math.min(from + windowSize, last)
    const [position, end] = [sql.raw(String(from)), sql.raw(String(upTo))]
    const slices = sql`(
      select * from ${eventSlices} where ${eventSlices.lastPosition} > ${position}
        and ${eventSlices.lastPosition} <= coalesce(
          (select min(${s.lastPosition}) from ${eventSlices} ${s} where ${s.lastPosition} >= ${end}), ${end}))`
    const rows = await database.readWithin<{ event: EventRow }>(
      sql`with page as materialized (
          select e.* from (${eventsBetween(position, { slices, upTo: end })}) e
          where ${e.occurredAt} < ${new Date(before).toISOString()}::text::timestamptz and ${over}
        )
        select to_json(e) as event from page e where ${free} order by e.position`,
      timeoutMs,
    )
    for (const { event } of rows) yield event
    onProgress?.(upTo - first + 1, last - first + 1)
  }
}

/** No event behind the last position is so old: positions follow the time but for minutes; a day is left for them. */
async function range(
  database: Pick<Database, 'readWithin'>,
  before: number,
): Promise<{ readonly first: number; readonly last: number }> {
  const [found] = await database.readWithin<{ first: string | null }>(
    sql`select min(${s.lastPosition} - ${s.total} + 1)::text as first from (
      select * from ${eventSlices} order by ${eventSlices.lastPosition} limit 1) ${s}`,
    timeoutMs,
  )
  return { first: Number(found?.first ?? 1), last: (await firstPositionSince(database, before + dayMs)) - 1 }
}

/**
 * The first position whose event happened at this time or later; the one behind the last when none did. Halves the
 * interval of positions: some forty looks at the log of slices.
 */
async function firstPositionSince(database: Pick<Database, 'readWithin'>, since: number): Promise<number> {
  const look = async (order: SQL): Promise<{ position: number; at: number } | undefined> => {
    const rows = await database.readWithin<{ row: { position: number; at: number } }>(
      sql`select json_build_object('position', position, 'at', round(extract(epoch from occurred_at) * 1000)) as row
        from ${eventPositions} ${order} limit 1`,
      timeoutMs,
    )
    return rows[0]?.row
  }
  const [first, last] = [await look(sql`order by position`), await look(sql`order by position desc`)]
  if (first === undefined || last === undefined) return 1
  let [low, high] = [first.position, last.position + 1]
  while (low < high) {
    const middle = Math.floor((low + high) / 2)
    const found = await look(sql`where position >= ${String(middle)}::text::bigint order by position`)
    if (found === undefined || found.at >= since) high = middle
    else low = found.position + 1
  }
  return low
}

/** The positions of events, with times: the last one of each slice. */
const eventPositions = sql`(
  select ${s.lastPosition} as position, (
    select ${e.occurredAt} from ${events} ${e}
    where ${e.bucket} = ${s.bucket} and ${e.number} > ${s.upto} - ${s.total} and ${e.number} <= ${s.upto}
    order by ${e.number} limit 1
  ) as occurred_at from ${eventSlices} ${s}) e`

const removeSql = textOf(sql`with free as materialized (
    select * from json_to_recordset($1::text::json) as e(position bigint, ${namesOf(events, 'bucket')} smallint,
      ${namesOf(events, 'number')} bigint, ${namesOf(events, 'id')} uuid, ${namesOf(events, 'dealId')} uuid)
    where ${isFree}
  ),
  gone as (
    delete from ${events} ${e} using free r
    where ${e.bucket} = ${r.bucket} and ${e.number} = ${r.number} and ${e.id} = ${r.id} and ${isOver} returning 1
  )
  select count(*)::text as count from gone`)

/** Removes those of these events that may still be removed. Resolves to how many they were. @throws Unavailable */
export async function removeEvents(database: Pick<Database, 'write'>, removed: readonly EventRow[]): Promise<number> {
  const rows = removed.map(({ position, bucket, number, id, deal_id }) => ({ position, bucket, number, id, deal_id }))
  const [row] = await database.write<{ count: string }>(removeSql, [JSON.stringify(rows)])
  return Number(row?.count ?? 0)
}
