/**
 * Events that may leave the database: those of purged deals, but for the last one of each deal. That one keeps the id
 * of the deal taken, and the end of the log in its place. Deals that exist keep all their events: they are the history.
 */
import { sql } from 'drizzle-orm'
import type { Database } from '../../shared/platform/database/database.ts'
import { findRecent } from '../../shared/platform/database/measure-table.ts'
import { eventsBetween } from '../store/events/event-statements.ts'
import { eventPositions } from './stored-kinds.ts'

/** An event with its position, and its row as PostgreSQL makes JSON of it, with every column that it has. */
export type EventRow = Readonly<Record<string, unknown>> & {
  readonly position: number
  readonly id: string
}

/** Which events are read. */
export interface EventSelection {
  /** Events that happened before this time, in milliseconds since 1970. */
  readonly before: number
  /** True: events of every deal, to be copied; false: those that may be removed. */
  readonly all: boolean
}

/** True for a row of `deals.events e` whose deal is purged and has a later event. */
const isOver = `not exists (select 1 from deals.deals d where d.id = e.deal_id and d.bucket = e.bucket)
  and exists (
    select 1 from deals.events l where l.deal_id = e.deal_id and l.bucket = e.bucket and l.sequence > e.sequence)`
/** True for an event with its position, `e`, at which no webhook stands and for which none waits. */
const isFree = `not exists (select 1 from deals.webhooks w where w.position = e.position)
  and not exists (select 1 from deals.webhook_blocked b where b.deal_id = e.deal_id)`

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
  const [over, free] = [isOver, isFree].map((condition) => sql.raw(all ? 'true' : condition))
  for (let from = first - 1; from < last; from += windowSize) {
    signal.throwIfAborted()
    const upTo = Math.min(from + windowSize, last)
    const slices = `(
      select * from deals.event_slices where last_position > ${from} and last_position <= coalesce(
        (select min(l.last_position) from deals.event_slices l where l.last_position >= ${upTo}), ${upTo}))`
    const rows = await database.readWithin<{ event: EventRow }>(
      sql`with page as materialized (
          select e.* from (${sql.raw(eventsBetween(String(from), { slices, upTo: String(upTo) }))}) e
          where e.occurred_at < ${new Date(before).toISOString()}::text::timestamptz and ${over}
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
    sql`select min(last_position - total + 1)::text as first from (
      select * from deals.event_slices order by last_position limit 1) s`,
    timeoutMs,
  )
  const { first: next } = await findRecent(database, eventPositions, before + dayMs)
  return { first: Number(found?.first ?? 1), last: next - 1 }
}

const removeSql = `with free as materialized (
    select * from json_to_recordset($1::text::json) as e(position bigint, bucket smallint, number bigint, id uuid,
      deal_id uuid)
    where ${isFree}
  ),
  gone as (
    delete from deals.events e using free r
    where e.bucket = r.bucket and e.number = r.number and e.id = r.id and ${isOver} returning 1
  )
  select count(*)::text as count from gone`

/** Removes those of these events that may still be removed. Resolves to how many they were. @throws Unavailable */
export async function removeEvents(database: Pick<Database, 'write'>, events: readonly EventRow[]): Promise<number> {
  const rows = events.map(({ position, bucket, number, id, deal_id }) => ({ position, bucket, number, id, deal_id }))
  const [row] = await database.write<{ count: string }>(removeSql, [JSON.stringify(rows)])
  return Number(row?.count ?? 0)
}
