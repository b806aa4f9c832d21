/** The event table in the order in which it is safe to read. */
import type { Database } from '../../shared/database/database.ts'
import type { EventLog, EventPage, LoggedEvent, Place, Snapshot } from '../domain/event-log.ts'

/** A row of `deals.events` as `json_agg` gives it: transaction numbers are texts there. */
interface EventRow {
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
  readonly use_case: string
  readonly style: string
  readonly command_id: string | null
  readonly correlation_id: string
  readonly schema_version: number
}

const horizon = 'pg_snapshot_xmin(pg_current_snapshot())'
const heldBack = `(select e.xid::text from deals.events e where e.xid >= ${horizon} order by e.xid, e.position limit 1)`

/** `$1`: a position or null. */
const lookStatement = `
  select pg_current_snapshot()::text as snapshot,
    (select e.xid::text from deals.events e where e.position = $1::text::bigint) as xid`

/** `$1`, `$2`: a place; `$3`: how many; `$4`, for one deal: its id. */
const readStatement = (source: string): string => `
  select ${horizon}::text as horizon, ${heldBack} as held_back, (
    select json_agg(p order by p.xid, p.position) from (
      select * from ${source} e
      where (e.xid, e.position) > ($1::text::xid8, $2::text::bigint) and e.xid < ${horizon}
      order by e.xid, e.position limit $3::text::int
    ) p
  ) as events`
const readAllStatement = readStatement('deals.events')
/** Has the events of the deal looked up first: a walk through all others until the limit is reached could take for ever. */
const readDealStatement = `
  with of_deal as materialized (select * from deals.events where deal_id = $4::text::uuid) ${readStatement('of_deal')}`

const stateStatement = `
  select ${horizon}::text as horizon, ${heldBack} as held_back,
    to_json(exists (select from deals.events e where e.xid >= pg_snapshot_xmax(pg_current_snapshot()))) as is_restored`

interface StateRow {
  readonly horizon: string
  readonly held_back: string | null
}

/** The log over a database. */
export const createEventLog = (database: Database): EventLog => ({
  look: async (position) => {
    type Row = { snapshot: string; xid: string | null }
    const [row] = await database.query<Row>(lookStatement, [position === undefined ? null : String(position)])
    const place = position === undefined || row?.xid == null ? undefined : { xid: Number(row.xid), position }
    return { snapshot: parseSnapshot(row?.snapshot ?? ''), place }
  },
  read: async (after, { limit, dealId }) => {
    const parameters = [String(after.xid), String(after.position), String(limit)]
    type Row = StateRow & { events: EventRow[] | null }
    const [row] =
      dealId === undefined
        ? await database.query<Row>(readAllStatement, parameters)
        : await database.query<Row>(readDealStatement, [...parameters, dealId])
    return pageOf(row, { after, limit })
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

function pageOf(
  row: (StateRow & { events: EventRow[] | null }) | undefined,
  { after, limit }: { after: Place; limit: number },
): EventPage {
  const events = (row?.events ?? []).map(eventOfRow)
  const last = events.at(-1)
  const isLast = events.length < limit
  const end = isLast ? { xid: Number(row?.horizon), position: 0 } : placeOf(last ?? after)
  return { events, end, isLast, heldBack: transaction(row?.held_back) }
}

const placeOf = ({ xid, position }: Place): Place => ({ xid, position })

const eventOfRow = (row: EventRow): LoggedEvent => ({
  position: row.position,
  xid: Number(row.xid),
  id: row.id,
  dealId: row.deal_id,
  sequence: row.sequence,
  dealVersion: row.deal_version,
  type: row.type,
  data: row.data,
  currency: row.currency,
  occurredAt: new Date(row.occurred_at).toISOString(),
  actor: row.actor,
  useCase: row.use_case,
  style: row.style,
  commandId: row.command_id,
  correlationId: row.correlation_id,
  schemaVersion: row.schema_version,
})
