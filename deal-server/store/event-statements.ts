/** The statements over the log of events. */
import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { parameters, sqlTextOf } from '../../shared/platform/database/statement.ts'
import { historySql } from '../../shared/platform/history/history.ts'
import { d, e, s } from './aliases.ts'
import { deals, eventCounters, eventLog, eventSlices, events, eventTimelines, slicedCounters } from './schema.ts'

const history = sql.raw(historySql)

/** Puts committed events into slices. */
export const sliceStatement = 'select to_json(deals.slice_events()) as "lastPosition"'

/**
 * True when events were committed that are in no slice, or when no slice could be made in this history. No bucket is
 * sliced beyond its count, so the sums tell.
 */
const isAhead = sql`((select sum(${eventCounters.count}) from ${eventCounters})
      > (select sum(${slicedCounters.upto}) from ${slicedCounters})
    or ${history} is distinct from (
      select ${eventTimelines.timeline} from ${eventTimelines} order by ${eventTimelines.ordinal} desc limit 1))`
/**
 * The run of the database in its history, and the history. The statistics are reset after every recovery from a
 * crash, also after the crash of a single session, which does not restart the server itself.
 */
const run = sql`concat_ws(' ', extract(epoch from pg_postmaster_start_time()),
    extract(epoch from pg_stat_get_bgwriter_stat_reset_time())) as run, ${history} as history`
const logEnd = sql`(select to_json(${eventLog.lastPosition}) from ${eventLog}) as "lastPosition"`
/** In which histories slices were made. */
export const historiesColumn = sql`(select json_agg(json_build_object('history', ${eventTimelines.timeline},
    'beginsAfter', ${eventTimelines.beginsAfter})
    order by ${eventTimelines.ordinal}) from ${eventTimelines}) as histories`

/** The position of a row of `deals.events e`; null while no slice has it. */
export const positionOfEvent = sql`(select ${s.lastPosition} - (${s.upto} - ${e.number}) from ${eventSlices} ${s}
    where ${s.bucket} = ${e.bucket} and ${s.upto} >= ${e.number} order by ${s.upto} limit 1)`

/**
 * Selects from the events at the positions after one and up to another, of slices of the log. Every `distinct` in a
 * lateral join enforces a lookup by index, and names the bucket, by which a database may spread them.
 */
export const eventsBetween = (
  position: SQL,
  { slices, upTo, columns = sql`e.*` }: { readonly slices: SQL; readonly upTo: SQL; readonly columns?: SQL },
): SQL => sql`
    select ${s.lastPosition} - (${s.upto} - ${e.number}) as position, ${columns}
    from ${slices} s cross join lateral (
      select distinct on (${e.bucket}, ${e.number}) e.* from ${events} ${e}
      where ${e.bucket} = ${s.bucket} and ${e.number} <= least(${s.upto}, ${s.upto} - (${s.lastPosition} - ${upTo}))
        and ${e.number} > greatest(${s.upto} - ${s.total}, ${s.upto} - (${s.lastPosition} - ${position}))
      order by ${e.bucket}, ${e.number}
    ) e`
const slicesAfter = (position: SQL, limit: SQL): SQL =>
  sql`select * from ${eventSlices} where ${eventSlices.lastPosition} > ${position}
    order by ${eventSlices.lastPosition} limit ${limit}`

/** The first event behind a position that is still there is looked for in this many slices, and events of each. */
const nearby = sql.raw('100')

/** When events behind the position of each row of `rows` happened: `of_row` is the id of the row. */
export const happenedAfter = (rows: SQL): SQL => sql`
  near as materialized (
    select r.id as of_row, r.position as after, s.* from ${rows} r
      cross join lateral (${slicesAfter(sql`r.position`, nearby)}) s
  ),
  happened as materialized (${eventsBetween(sql`s.after`, {
    slices: sql`near`,
    upTo: sql`(greatest(s.after, ${s.lastPosition} - ${s.total}) + ${nearby})`,
    columns: sql`s.of_row, ${e.occurredAt} as occurred_at`,
  })}
  )`

/** The ids of the events at positions: those of the rows of `rows`. */
const placesAt = (rows: SQL): SQL => sql`
  wanted as materialized (
    select r.position, ${s.bucket}, ${s.upto} - (${s.lastPosition} - r.position) as number from ${rows} r
      cross join lateral (${slicesAfter(sql`r.position - 1`, sql`1`)}) s
    where ${s.lastPosition} - ${s.total} < r.position
  ),
  places as materialized (
    select w.position, ${e.id} from wanted w cross join lateral (
      select distinct on (${e.bucket}, ${e.number}) ${e.id} from ${events} ${e}
      where ${e.bucket} = w.bucket and ${e.number} = w.number order by ${e.bucket}, ${e.number}) e
  )`
/** Of a row `p` of `places`. */
const place = sql`json_build_object('position', p.position, 'id', p.id)`

/** Says whether there is anything to slice. */
export const lookStatement = sqlTextOf(sql`select to_json(${isAhead}) as "isAhead", ${logEnd}`)

/** The last event is never removed. */
const lastPosition = sql`(select max(${eventSlices.lastPosition}) from ${eventSlices})`

const asked = parameters({ position: 'bigint | null' })
export const snapshotStatement = asked.statement(sql`
  with asked as materialized (select ${asked.position} as position union select ${lastPosition}),
    ${placesAt(sql`asked`)}
  select ${run}, ${historiesColumn},
    (select ${place} from places p where p.position = ${lastPosition}) as last,
    (select ${place} from places p where p.position = ${asked.position}) as place`)

const known = parameters({ places: 'json' })
/** `places`: `[{position, id}]`. Positions of the present history are others than those of a former one. */
export const findLastStatement = known.statement(sql`
  with known as materialized (select * from json_to_recordset(${known.places}) as k(position bigint, id uuid)),
    ${placesAt(sql`known`)}
  select ${history} as history, (
    select ${place} from places p join known k on k.position = p.position and k.id = p.id
    where p.position <= (
      select ${eventTimelines.beginsAfter} from ${eventTimelines} order by ${eventTimelines.ordinal} desc limit 1)
    order by p.position desc limit 1) as place`)

/** True for a row of `deals.events e` that readers without the right to restore deals do not get. */
export const isHidden = (id: SQLWrapper, bucket: SQLWrapper): SQL => sql`${e.type} <> 'deal.deleted' and not exists (
        select 1 from ${deals} ${d} where ${d.id} = ${id} and ${d.bucket} = ${bucket} and ${d.deletedAt} is null)`

/** Whose the deal of a row of `deals.events e` is now. */
export const ownerOfEvent = (
  id: SQLWrapper,
  bucket: SQLWrapper,
): SQL => sql`(select json_build_object('ownerId', ${d.ownerId},
    'ownerUserId', ${d.ownerUserId}, 'createdAt', ${d.createdAt}) from ${deals} ${d}
    where ${d.id} = ${id} and ${d.bucket} = ${bucket}) as owner`

const page = parameters({ after: 'bigint', limit: 'int' })
const pageOfDeal = parameters({ after: 'bigint', limit: 'int', dealId: 'uuid', bucket: 'smallint' })
const { after, limit } = page
const { dealId, bucket } = pageOfDeal
const eventsOfPage = sql`(select json_agg(p order by p.position) from page p) as events`

/** A page of all events behind a position. It reads as many slices as hold a page of positions. */
const readAll = (more = sql``): SQL => sql`
  with found as materialized (${slicesAfter(after, limit)}),
  reach as materialized (
    select least(max(${s.lastPosition}), greatest(min(${s.lastPosition} - ${s.total}), ${after}) + ${limit}) as position
    from found s
  ),
  taken as materialized (
    select s.*, r.position as reach from found s, reach r where ${s.lastPosition} - ${s.total} < r.position
  ),
  page as materialized (
    select e.*, ${ownerOfEvent(e.dealId, e.bucket)}${more} from (${eventsBetween(after, { slices: sql`taken`, upTo: sql`s.reach` })}) e
  )
  select ${run}, ${logEnd}, to_json(${isAhead}) as "isAhead", null::json as last,
    to_json((select position from reach)) as "upTo",
    to_json(exists (
      select 1 from ${eventSlices} where ${eventSlices.lastPosition} > (select position from reach))) as "hasMore",
    ${eventsOfPage}`

/** A page of the events of a deal. The last place of the log tells where none is left. */
const readDeal = (more = sql``): SQL => sql`
  with asked as materialized (select ${lastPosition} as position), ${placesAt(sql`asked`)},
  stored as materialized (
    select e.*, ${ownerOfEvent(dealId, bucket)}${more} from ${events} ${e}
    where ${e.dealId} = ${dealId} and ${e.bucket} = ${bucket}
  ),
  page as materialized (
    select * from (select ${positionOfEvent} as position, e.* from stored e) e
    where e.position > ${after} order by e.position limit ${limit}
  )
  select ${run}, ${logEnd}, to_json(${isAhead}) as "isAhead", (select ${place} from places p) as last,
    null::json as "upTo", to_json(false) as "hasMore", ${eventsOfPage}`

/** Pages of the log, with and without the mark of events that are hidden. */
export const readStatements = {
  whole: { all: page.statement(readAll()), ofDeal: pageOfDeal.statement(readDeal()) },
  hiding: {
    all: page.statement(readAll(sql`, ${isHidden(e.dealId, e.bucket)} as is_hidden`)),
    ofDeal: pageOfDeal.statement(readDeal(sql`, ${isHidden(dealId, bucket)} as is_hidden`)),
  },
} as const
