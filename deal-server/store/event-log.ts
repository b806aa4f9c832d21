/** The event log in PostgreSQL: reads the events table in an order that loses no event. */
import type { Database } from '../../shared/platform/database/database.ts'
import { requireTimeline, timelineSql } from '../../shared/platform/database/timeline.ts'
import {
  beginning,
  type EventLog,
  type EventPage,
  isBefore,
  type LoggedEvent,
  type Place,
  type Snapshot,
  type TimelineId,
} from '../events/event-log.ts'
import { rfc3339OfRow } from './rows.ts'

/** A row of `deals.events` in the form of `json_agg`: transaction numbers are texts. */
export interface EventRow {
  readonly position: number
  readonly xid: string
  readonly id: string
  readonly deal_id: string
  readonly sequence: number
  readonly deal_version: number
  readonly type: string
  readonly data: Readonly<Record<string, unknown>>
  readonly currency: string
  readonly occurred_at: string
  readonly actor: string
  readonly actor_user_id: string | null
  readonly use_case: string
  readonly style: string
  readonly command_id: string | null
  readonly correlation_id: string
  readonly schema_version: number
  readonly is_hidden?: boolean
}

const horizon = 'pg_snapshot_xmin(pg_current_snapshot())'
const heldBack = `(select e.xid::text from deals.events e where e.xid >= ${horizon} order by e.xid, e.position limit 1)`

/** The place of the last visible event. */
const lastShown = `(select json_build_object('xid', e.xid::text, 'position', e.position, 'id', e.id) from deals.events e
    where e.xid < ${horizon} order by e.xid desc, e.position desc limit 1)`
/**
 * The run of the database on its timeline, and the timeline. The statistics are reset after every recovery from a
 * crash, also after the crash of a single session, which does not restart the server itself.
 */
const run = `concat_ws(' ', extract(epoch from pg_postmaster_start_time()),
    extract(epoch from pg_stat_get_bgwriter_stat_reset_time())) as run, ${timelineSql} as timeline`

/** `$1`: a position or null. */
const snapshotStatement = `
  select pg_current_snapshot()::text as snapshot, ${run}, ${lastShown} as last,
    (select json_build_object('xid', e.xid::text, 'position', e.position, 'id', e.id)
      from deals.events e where e.position = $1::text::bigint) as place`

/** `$1`: `[{xid, position, id}]`. */
const findLastStatement = `
  select ${timelineSql} as timeline, (select json_build_object('xid', e.xid::text, 'position', e.position, 'id', e.id)
    from json_to_recordset($1::text::json) as known(xid text, position bigint, id uuid)
    join deals.events e on e.position = known.position and e.id = known.id and e.xid = known.xid::xid8
    order by e.xid desc, e.position desc limit 1) as place`

/** True for a row of `deals.events e` that readers without the right to restore deals do not get. */
export const isHidden = `e.type <> 'deal.deleted' and not exists (
        select from deals.deals d where d.id = e.deal_id and d.deleted_at is null)`

/**
 * `$1`, `$2`: a place; `$3`: the limit; `$4`, for one deal: its id. A read of all deals needs no `last`: the last event
 * of the last page is the last visible event.
 */
const readStatement = (source: string, { last = 'null::json', more = '' }): string => `
  select ${horizon}::text as horizon, ${heldBack} as held_back, ${run}, ${last} as last, (
    select json_agg(p order by p.xid, p.position) from (
      select e.*${more} from ${source} e
      where (e.xid, e.position) > ($1::text::xid8, $2::text::bigint) and e.xid < ${horizon}
      order by e.xid, e.position limit $3::text::int
    ) p
  ) as events`
const readAll = (more = ''): string => readStatement('deals.events', { more })
/** Finds the events of the deal first: a scan of all events until the limit is reached could take very long. */
const readDeal = (more = ''): string => `
  with of_deal as materialized (select * from deals.events where deal_id = $4::text::uuid)
  ${readStatement('of_deal', { last: lastShown, more })}`
const withHidden = `, ${isHidden} as is_hidden`
const readStatements = {
  whole: { all: readAll(), ofDeal: readDeal() },
  hiding: { all: readAll(withHidden), ofDeal: readDeal(withHidden) },
} as const

const stateStatement = `
  select ${horizon}::text as horizon, ${heldBack} as held_back,
    to_json(exists (select from deals.events e where e.xid >= pg_snapshot_xmax(pg_current_snapshot()))) as is_restored`

interface StateRow {
  readonly horizon: string
  readonly held_back: string | null
}

interface PlaceRow {
  readonly xid: string
  readonly position: number
  readonly id: string
}

interface RunRow {
  readonly run: string
  /** Null on a standby. */
  readonly timeline: string | null
}

/** The result of `findLastStatement`. */
interface FoundRow extends Pick<RunRow, 'timeline'> {
  readonly place: PlaceRow | null
}

interface PageRow extends StateRow, RunRow {
  readonly events: EventRow[] | null
  readonly last: PlaceRow | null
}

interface SnapshotRow extends RunRow {
  readonly snapshot: string
  readonly last: PlaceRow | null
  readonly place: PlaceRow | null
}

/** The event log of a database. */
export const createEventLog = (database: Database): EventLog => ({
  takeSnapshot: async (position) => {
    const [row] = await database.query<SnapshotRow>(snapshotStatement, [
      position === undefined ? null : String(position),
    ])
    const found = requireRow(row)
    const { snapshot, last } = found
    const place = found.place ? placeOfRow(found.place) : undefined
    return { snapshot: parseSnapshot(snapshot), ...runOf(found), last: last ? placeOfRow(last) : beginning, place }
  },
  read: async (after, { limit, dealId, hidesDeleted = false }) => {
    const parameters = [String(after.xid), String(after.position), String(limit)]
    const statements = hidesDeleted ? readStatements.hiding : readStatements.whole
    const [row] =
      dealId === undefined
        ? await database.query<PageRow>(statements.all, parameters)
        : await database.query<PageRow>(statements.ofDeal, [...parameters, dealId])
    return pageOf(requireRow(row), { after, limit })
  },
  findLast: async (places) => {
    const known = places.flatMap(({ xid, position, id }) =>
      id === undefined ? [] : [{ xid: String(xid), position, id }],
    )
    const [row] = await database.query<FoundRow>(findLastStatement, [JSON.stringify(known)])
    const { timeline, place } = requireRow(row)
    const isFromBeginning = places.some((one) => one.xid === beginning.xid)
    const found = place ? placeOfRow(place) : isFromBeginning ? beginning : undefined
    return { place: found, timeline: requireTimeline(timeline) }
  },
  state: async () => {
    const [row] = await database.query<StateRow & { is_restored: boolean }>(stateStatement)
    return {
      horizon: Number(row?.horizon),
      heldBack: transaction(row?.held_back),
      isRestored: row?.is_restored === true,
    }
  },
})

const transaction = (text: string | null | undefined): number | undefined => (text == null ? undefined : Number(text))

/** Reads PostgreSQL's `xmin:xmax:running,…`. */
function parseSnapshot(text: string): Snapshot {
  const [xmin, xmax, running = ''] = text.split(':')
  return { xmin: Number(xmin), xmax: Number(xmax), running: new Set(running.split(',').filter(Boolean).map(Number)) }
}

function pageOf(row: PageRow, { after, limit }: { after: Place; limit: number }): EventPage {
  const { runId, timeline } = runOf(row)
  const events = (row.events ?? []).map((event) => eventOfRow(event, timeline))
  const read = placeOf(events.at(-1) ?? after)
  const isLast = events.length < limit
  const last = row.last && placeOfRow(row.last)
  const end = isLast && last && isBefore(read, last) ? last : read
  const { horizon, held_back } = row
  return { events, end, horizon: Number(horizon), isLast, heldBack: transaction(held_back), runId, timeline }
}

/** @throws Unavailable on a standby, whose snapshots leave running transactions out */
function runOf({ run, timeline: found }: RunRow): Pick<EventPage, 'runId' | 'timeline'> {
  const timeline = requireTimeline(found)
  return { runId: `${timeline} ${run}`, timeline }
}

const placeOf = ({ xid, position, id }: Place): Place => ({ xid, position, id })

const placeOfRow = ({ xid, position, id }: PlaceRow): Place => ({ xid: Number(xid), position, id })

/** The only row of a result: every statement here returns exactly one. */
function requireRow<Row>(row: Row | undefined): Row {
  if (row === undefined) throw new TypeError('a read of the event log returned no row')
  return row
}

/** The event of a row, read from this timeline. */
export const eventOfRow = (row: EventRow, timeline: TimelineId): LoggedEvent => ({
  position: row.position,
  timeline,
  xid: Number(row.xid),
  id: row.id,
  dealId: row.deal_id,
  sequence: row.sequence,
  dealVersion: row.deal_version,
  type: row.type,
  data: row.data,
  currency: row.currency,
  occurredAt: rfc3339OfRow(row.occurred_at),
  actor: row.actor,
  actorUserId: row.actor_user_id,
  useCase: row.use_case,
  style: row.style,
  commandId: row.command_id,
  correlationId: row.correlation_id,
  schemaVersion: row.schema_version,
  ...(row.is_hidden ? { isHidden: true } : {}),
})
