/** The statements over the log of events. The functions that they call are made by `0010_event_slices`. */
import { timelineSql } from '../../../shared/platform/database/timeline.ts'

/** Puts committed events into slices. */
export const sliceStatement = `
  select to_json(last_slice) as "lastSlice", to_json(is_held_back) as "isHeldBack" from deals.slice_events()`

/** True when events were committed that are in no slice, or when no slice could be made on this timeline. */
const isAhead = `(exists (select from deals.event_counters c join deals.sliced_counters s on s.bucket = c.bucket
      where c.count > s.upto)
    or ${timelineSql} is distinct from (select timeline from deals.event_timelines order by ordinal desc limit 1))`
/**
 * The run of the database on its timeline, and the timeline. The statistics are reset after every recovery from a
 * crash, also after the crash of a single session, which does not restart the server itself.
 */
const run = `concat_ws(' ', extract(epoch from pg_postmaster_start_time()),
    extract(epoch from pg_stat_get_bgwriter_stat_reset_time())) as run, ${timelineSql} as timeline`
const lastSlice = '(select to_json(last_slice) from deals.event_log) as "lastSlice"'
const lastPlace = '(select to_json(p) from deals.last_place() p)'
const timelines = `(select json_agg(json_build_object('timeline', t.timeline, 'firstSlice', t.first_slice)
    order by t.ordinal) from deals.event_timelines t)`

/** Says whether there is anything to slice. */
export const lookStatement = `select to_json(${isAhead}) as "isAhead", ${lastSlice}`

/** `$1`: a position or null. */
export const snapshotStatement = `
  select ${run}, ${timelines} as timelines, ${lastPlace} as last,
    (select to_json(p) from deals.events e, lateral deals.place_of(e) p where e.position = $1::text::bigint) as place,
    to_json(exists (select from deals.events e where e.position = $1::text::bigint)) as "isThere"`

/** `$1`: `[{slice, turn, position, id}]`. Slices of the present timeline are others than those of a former one. */
export const findLastStatement = `
  select ${timelineSql} as timeline, (
    select to_json(p)
    from json_to_recordset($1::text::json) as known(slice bigint, turn bigint, position bigint, id uuid)
      join deals.events e on e.position = known.position and e.id = known.id, lateral deals.place_of(e) p
    where p.slice = known.slice and p.turn = known.turn
      and p.slice < (select first_slice from deals.event_timelines order by ordinal desc limit 1)
    order by p.slice desc, p.turn desc, p.position desc limit 1) as place`

/** True for a row of `deals.events e` that readers without the right to restore deals do not get. */
export const isHidden = `e.type <> 'deal.deleted' and not exists (
        select from deals.deals d where d.id = e.deal_id and d.deleted_at is null)`
const withHidden = `, ${isHidden} as is_hidden`

const place = '$1::text::bigint, $2::text::bigint, $3::text::bigint'
const limit = '$4::text::int'
const inOrder = 'order by slice, turn, position'

/**
 * A page of all events. `$1`, `$2`, `$3`: a place; `$4`: the limit. It reads so many slices as hold a page after the
 * slice of the place, of which any part may have been read. Every `limit` in a lateral join enforces a lookup by index.
 */
const readAll = (more = ''): string => `
  with following as (
    select s.*, sum(case when s.slice > $1::text::bigint then s.total else 0 end) over (order by s.slice) as so_far
    from (
      select * from deals.event_slices where slice >= $1::text::bigint order by slice limit ${limit} + 1
    ) s
  ),
  taken as materialized (
    select * from following f where f.slice = $1::text::bigint or f.so_far - f.total < ${limit}
  ),
  unnumbered as (
    select e.*, 0::bigint as slice, e.xid::text::bigint as turn from deals.events e
    where $1::text::bigint = 0 and e.number is null
      and (e.xid, e.position) > ($2::text::xid8, $3::text::bigint)
      and (e.xid, e.position) <= (
        (select unnumbered_xid from deals.event_log), (select unnumbered_position from deals.event_log))
    order by e.xid, e.position limit ${limit}
  ),
  numbered as (
    select e.*, t.slice, case when t.by_xid then e.xid::text::bigint else 0 end as turn
    from taken t cross join lateral unnest(t.buckets, t.counts, t.uptos) as r(bucket, many, upto)
      cross join lateral (
        select * from deals.events e where e.bucket = r.bucket and e.number > r.upto - r.many and e.number <= r.upto
        order by e.number limit r.many
      ) e
  ),
  page as (
    select * from (
      select * from unnumbered union all (
        select * from numbered n where (n.slice, n.turn, n.position) > (${place}) ${inOrder} limit ${limit})
    ) p ${inOrder} limit ${limit}
  )
  select ${run}, ${lastSlice}, to_json(${isAhead}) as "isAhead", null::json as last,
    to_json((select max(slice) from taken)) as "upTo",
    to_json(exists (select from deals.event_slices where slice > (select max(slice) from taken))) as "hasMore",
    (select json_agg(p ${inOrder}) from (select e.*${more} from page e) p) as events`

/** A page of the events of one deal, `$5`. The last place of the log shows up to where none is left. */
const readDeal = (more = ''): string => `
  with page as (
    select e.*, p.slice, p.turn from deals.events e, lateral deals.place_of(e) p
    where e.deal_id = $5::text::uuid and (p.slice, p.turn, p.position) > (${place}) order by p.slice, p.turn, p.position limit ${limit}
  )
  select ${run}, ${lastSlice}, to_json(${isAhead}) as "isAhead", ${lastPlace} as last, null::json as "upTo",
    to_json(false) as "hasMore", (select json_agg(p ${inOrder}) from (select e.*${more} from page e) p) as events`

/** Pages of the log, with and without the mark of events that are hidden. */
export const readStatements = {
  whole: { all: readAll(), ofDeal: readDeal() },
  hiding: { all: readAll(withHidden), ofDeal: readDeal(withHidden) },
} as const
