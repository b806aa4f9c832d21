/** The statements over the log of events. */
import { historySql } from '../../../shared/platform/history/history.ts'

/** Puts committed events into slices. */
export const sliceStatement = 'select to_json(deals.slice_events()) as "lastPosition"'

/** True when events were committed that are in no slice, or when no slice could be made on this timeline. */
const isAhead = `(exists (select from deals.event_counters c join deals.sliced_counters s on s.bucket = c.bucket
      where c.count > s.upto)
    or ${historySql} is distinct from (select timeline from deals.event_timelines order by ordinal desc limit 1))`
/**
 * The run of the database on its timeline, and the timeline. The statistics are reset after every recovery from a
 * crash, also after the crash of a single session, which does not restart the server itself.
 */
const run = `concat_ws(' ', extract(epoch from pg_postmaster_start_time()),
    extract(epoch from pg_stat_get_bgwriter_stat_reset_time())) as run, ${historySql} as timeline`
const lastPosition = '(select to_json(last_position) from deals.event_log) as "lastPosition"'
/** On which timelines slices were made. */
export const timelinesColumn = `(select json_agg(json_build_object('timeline', t.timeline, 'beginsAfter', t.begins_after)
    order by t.ordinal) from deals.event_timelines t) as timelines`

/** The position of a row of `deals.events`; null while no slice has it. */
export const positionOf = (event: string): string =>
  `(select s.last_position - (s.upto - ${event}.number) from deals.event_slices s
    where s.bucket = ${event}.bucket and s.upto >= ${event}.number order by s.upto limit 1)`

/**
 * Selects from the events at the positions after one, up to a limit, of slices of the log. A slice is read from there
 * on. Every `limit` in a lateral join enforces a lookup by index.
 */
export const eventsAfter = (position: string, { slices, limit }: { slices: string; limit: string }): string => `
    select s.last_position - (s.upto - e.number) as position, e.*
    from ${slices} s cross join lateral (
      select * from deals.events e
      where e.bucket = s.bucket and e.number <= s.upto
        and e.number > greatest(s.upto - s.total, s.upto - (s.last_position - ${position}))
      order by e.number limit ${limit}
    ) e`
const slicesAfter = (position: string, limit: string): string =>
  `select * from deals.event_slices where last_position > ${position} order by last_position limit ${limit}`

/** When the first event after a position happened. Slices whose events are all gone are passed over, up to 100. */
export const happenedAfter = (position: string): string => `(select to_json(f.occurred_at) from (
    ${eventsAfter(position, { slices: `(${slicesAfter(position, '100')})`, limit: '1' })}
  ) f order by f.position limit 1)`

/** The place of the event at a position; null without one. */
const placeAt = (
  position: string,
): string => `(select json_build_object('position', s.last_position - (s.upto - e.number),
      'id', e.id)
    from (${slicesAfter(`${position} - 1`, '1')}) s
      join deals.events e on e.bucket = s.bucket and e.number = s.upto - (s.last_position - ${position})
    where s.last_position - s.total < ${position})`

/** Says whether there is anything to slice. */
export const lookStatement = `select to_json(${isAhead}) as "isAhead", ${lastPosition}`

/** The last event is never removed. */
const lastPlace = `(select json_build_object('position', s.last_position, 'id', e.id)
    from (select * from deals.event_slices order by last_position desc limit 1) s
      join deals.events e on e.bucket = s.bucket and e.number = s.upto)`

/** `$1`: a position or null. */
export const snapshotStatement = `
  select ${run}, ${timelinesColumn}, ${lastPlace} as last, ${placeAt('$1::text::bigint')} as place`

/** `$1`: `[{position, id}]`. Positions of the present timeline are others than those of a former one. */
export const findLastStatement = `
  select ${historySql} as timeline, (
    select json_build_object('position', known.position, 'id', known.id)
    from json_to_recordset($1::text::json) as known(position bigint, id uuid)
    where known.position <= (select begins_after from deals.event_timelines order by ordinal desc limit 1)
      and ${placeAt('known.position')} ->> 'id' = known.id::text
    order by known.position desc limit 1) as place`

/** True for a row of `deals.events e` that readers without the right to restore deals do not get. */
export const isHidden = `e.type <> 'deal.deleted' and not exists (
        select 1 from deals.deals d where d.id = e.deal_id and d.bucket = e.bucket and d.deleted_at is null)`
const withHidden = `, ${isHidden} as is_hidden`

const after = '$1::text::bigint'
const limit = '$2::text::int'

/** A page of all events. `$1`: a position; `$2`: the limit. It reads so many slices as hold a page of positions. */
const readAll = (more = ''): string => `
  with taken as materialized (
    select * from (
      select s.*, min(s.last_position - s.total) over () as first from (${slicesAfter(after, limit)}) s
    ) s where s.last_position - s.total < greatest(s.first, ${after}) + ${limit}
  ),
  page as (${eventsAfter(after, { slices: 'taken', limit })} order by position limit ${limit})
  select ${run}, ${lastPosition}, to_json(${isAhead}) as "isAhead", null::json as last,
    to_json((select max(last_position) from taken)) as "upTo",
    to_json(exists (select from deals.event_slices where last_position > (select max(last_position) from taken))) as "hasMore",
    (select json_agg(p order by p.position) from (select e.*${more} from page e) p) as events`

/** A page of the events of the deal `$3` in its bucket `$4`. The last place of the log tells where none is left. */
const readDeal = (more = ''): string => `
  with page as (
    select * from (select ${positionOf('e')} as position, e.* from deals.events e
      where e.deal_id = $3::text::uuid and e.bucket = $4::text::smallint) e
    where e.position > ${after} order by e.position limit ${limit}
  )
  select ${run}, ${lastPosition}, to_json(${isAhead}) as "isAhead", ${lastPlace} as last, null::json as "upTo",
    to_json(false) as "hasMore", (select json_agg(p order by p.position) from (select e.*${more} from page e) p) as events`

/** Pages of the log, with and without the mark of events that are hidden. */
export const readStatements = {
  whole: { all: readAll(), ofDeal: readDeal() },
  hiding: { all: readAll(withHidden), ofDeal: readDeal(withHidden) },
} as const
