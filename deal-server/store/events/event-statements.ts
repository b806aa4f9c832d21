/** The statements over the log of events. */
import { historySql } from '../../../shared/platform/history/history.ts'

/** Puts committed events into slices. */
export const sliceStatement = 'select to_json(deals.slice_events()) as "lastPosition"'

/**
 * True when events were committed that are in no slice, or when no slice could be made in this history. No bucket is
 * sliced beyond its count, so the sums tell.
 */
const isAhead = `((select sum(count) from deals.event_counters) > (select sum(upto) from deals.sliced_counters)
    or ${historySql} is distinct from (select timeline from deals.event_timelines order by ordinal desc limit 1))`
/**
 * The run of the database in its history, and the history. The statistics are reset after every recovery from a
 * crash, also after the crash of a single session, which does not restart the server itself.
 */
const run = `concat_ws(' ', extract(epoch from pg_postmaster_start_time()),
    extract(epoch from pg_stat_get_bgwriter_stat_reset_time())) as run, ${historySql} as history`
const logEnd = '(select to_json(last_position) from deals.event_log) as "lastPosition"'
/** In which histories slices were made. */
export const historiesColumn = `(select json_agg(json_build_object('history', t.timeline, 'beginsAfter', t.begins_after)
    order by t.ordinal) from deals.event_timelines t) as histories`

/** The position of a row of `deals.events`; null while no slice has it. */
export const positionOf = (event: string): string =>
  `(select s.last_position - (s.upto - ${event}.number) from deals.event_slices s
    where s.bucket = ${event}.bucket and s.upto >= ${event}.number order by s.upto limit 1)`

/**
 * Selects from the events at the positions after one and up to another, of slices of the log. Every `distinct` in a
 * lateral join enforces a lookup by index, and names the bucket, by which a database may spread them.
 */
export const eventsBetween = (
  position: string,
  { slices, upTo, columns = 'e.*' }: { readonly slices: string; readonly upTo: string; readonly columns?: string },
): string => `
    select s.last_position - (s.upto - e.number) as position, ${columns}
    from ${slices} s cross join lateral (
      select distinct on (e.bucket, e.number) e.* from deals.events e
      where e.bucket = s.bucket and e.number <= least(s.upto, s.upto - (s.last_position - ${upTo}))
        and e.number > greatest(s.upto - s.total, s.upto - (s.last_position - ${position}))
      order by e.bucket, e.number
    ) e`
const slicesAfter = (position: string, limit: string): string =>
  `select * from deals.event_slices where last_position > ${position} order by last_position limit ${limit}`

/** The first event behind a position that is still there is looked for in so many slices, so many events of each. */
const nearby = 100

/** When events behind the position of each row of `rows` happened: `of_row` is the id of the row. */
export const happenedAfter = (rows: string): string => `
  near as materialized (
    select r.id as of_row, r.position as after, s.* from ${rows} r
      cross join lateral (${slicesAfter('r.position', String(nearby))}) s
  ),
  happened as materialized (${eventsBetween('s.after', {
    slices: 'near',
    upTo: `(greatest(s.after, s.last_position - s.total) + ${nearby})`,
    columns: 's.of_row, e.occurred_at',
  })}
  )`

/** The ids of the events at positions: those of the rows of `rows`. */
const placesAt = (rows: string): string => `
  wanted as materialized (
    select r.position, s.bucket, s.upto - (s.last_position - r.position) as number from ${rows} r
      cross join lateral (${slicesAfter('r.position - 1', '1')}) s where s.last_position - s.total < r.position
  ),
  places as materialized (
    select w.position, e.id from wanted w cross join lateral (
      select distinct on (e.bucket, e.number) e.id from deals.events e
      where e.bucket = w.bucket and e.number = w.number order by e.bucket, e.number) e
  )`
const placeOf = (place: string) => `json_build_object('position', ${place}.position, 'id', ${place}.id)`

/** Says whether there is anything to slice. */
export const lookStatement = `select to_json(${isAhead}) as "isAhead", ${logEnd}`

/** The last event is never removed. */
const lastPosition = '(select max(last_position) from deals.event_slices)'

/** `$1`: a position or null. */
export const snapshotStatement = `
  with asked as materialized (select $1::text::bigint as position union select ${lastPosition}), ${placesAt('asked')}
  select ${run}, ${historiesColumn},
    (select ${placeOf('p')} from places p where p.position = ${lastPosition}) as last,
    (select ${placeOf('p')} from places p where p.position = $1::text::bigint) as place`

/** `$1`: `[{position, id}]`. Positions of the present history are others than those of a former one. */
export const findLastStatement = `
  with known as materialized (select * from json_to_recordset($1::text::json) as k(position bigint, id uuid)),
    ${placesAt('known')}
  select ${historySql} as history, (
    select ${placeOf('p')} from places p join known k on k.position = p.position and k.id = p.id
    where p.position <= (select begins_after from deals.event_timelines order by ordinal desc limit 1)
    order by p.position desc limit 1) as place`

/** True for a row of `deals.events e` that readers without the right to restore deals do not get. */
export const isHidden = (id: string, bucket: string): string => `e.type <> 'deal.deleted' and not exists (
        select 1 from deals.deals d where d.id = ${id} and d.bucket = ${bucket} and d.deleted_at is null)`

const after = '$1::text::bigint'
const limit = '$2::text::int'
const eventsOf = (page: string) => `(select json_agg(p order by p.position) from ${page} p) as events`

/** A page of all events. `$1`: a position; `$2`: the limit. It reads so many slices as hold a page of positions. */
const readAll = (more = ''): string => `
  with found as materialized (${slicesAfter(after, limit)}),
  reach as materialized (
    select least(max(last_position), greatest(min(last_position - total), ${after}) + ${limit}) as position from found
  ),
  taken as materialized (
    select f.*, r.position as reach from found f, reach r where f.last_position - f.total < r.position
  ),
  page as materialized (
    select e.*${more} from (${eventsBetween(after, { slices: 'taken', upTo: 's.reach' })}) e
  )
  select ${run}, ${logEnd}, to_json(${isAhead}) as "isAhead", null::json as last,
    to_json((select position from reach)) as "upTo",
    to_json(exists (select 1 from deals.event_slices where last_position > (select position from reach))) as "hasMore",
    ${eventsOf('page')}`

/** A page of the events of the deal `$3` in its bucket `$4`. The last place of the log tells where none is left. */
const readDeal = (more = ''): string => `
  with asked as materialized (select ${lastPosition} as position), ${placesAt('asked')},
  stored as materialized (
    select e.*${more} from deals.events e where e.deal_id = $3::text::uuid and e.bucket = $4::text::smallint
  ),
  page as materialized (
    select * from (select ${positionOf('e')} as position, e.* from stored e) e
    where e.position > ${after} order by e.position limit ${limit}
  )
  select ${run}, ${logEnd}, to_json(${isAhead}) as "isAhead", (select ${placeOf('p')} from places p) as last,
    null::json as "upTo", to_json(false) as "hasMore", ${eventsOf('page')}`

/** Pages of the log, with and without the mark of events that are hidden. */
export const readStatements = {
  whole: { all: readAll(), ofDeal: readDeal() },
  hiding: {
    all: readAll(`, ${isHidden('e.deal_id', 'e.bucket')} as is_hidden`),
    ofDeal: readDeal(`, ${isHidden('$3::text::uuid', '$4::text::smallint')} as is_hidden`),
  },
} as const
