/** The event log in PostgreSQL: a sequence of slices, each of which is made once and read by everybody. */
import type { Database } from '../../shared/platform/database/database.ts'
import { requireTimeline } from '../../shared/platform/database/timeline.ts'
import { Unavailable } from '../../shared/platform/problems/errors.ts'
import {
  beginning,
  type EventLog,
  type EventPage,
  isBefore,
  type LoggedEvent,
  type LogState,
  type LogTimeline,
  type Place,
  type ReadOptions,
  type TimelineId,
} from '../events/event-log.ts'
import {
  findLastStatement,
  lookStatement,
  readStatements,
  sliceStatement,
  snapshotStatement,
} from './events/event-statements.ts'
import { rfc3339OfRow } from './rows.ts'

/** A row of `deals.events` with its place, in the form of `json_agg`. */
export interface EventRow extends PlaceRow {
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

/** A row of the functions that find places. */
export interface PlaceRow {
  readonly slice: number
  readonly turn: number
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

interface LookRow {
  readonly isAhead: boolean
  readonly lastSlice: number
}

interface PageRow extends LookRow, RunRow {
  readonly events: EventRow[] | null
  readonly last: PlaceRow | null
  readonly upTo: number | null
  readonly hasMore: boolean
}

interface SnapshotRow extends RunRow {
  readonly timelines: readonly LogTimeline[]
  readonly last: PlaceRow | null
  readonly place: PlaceRow | null
  readonly isThere: boolean
}

/** The event log of a database. */
export function createEventLog(database: Database): EventLog {
  /** Puts what was committed into slices. @throws Unavailable also while nothing can be written */
  const slice = async (): Promise<LogState> => {
    const { isAhead, lastSlice } = requireRow(await database.query<LookRow>(lookStatement))
    return isAhead ? requireRow(await database.write<LogState>(sliceStatement)) : { isHeldBack: false, lastSlice }
  }
  return {
    takeSnapshot: async (position) => {
      await slice().catch(unlessAway)
      const parameters = [position === undefined ? null : String(position)]
      const row = requireRow(await database.query<SnapshotRow>(snapshotStatement, parameters))
      const place = row.place ?? undefined
      const isNotVisible = row.isThere && place === undefined
      return { ...runOf(row), timelines: row.timelines, last: row.last ?? beginning, place, isNotVisible }
    },
    read: async (after, options) => {
      const page = await readPage(database, after, options)
      if (!page.isLast || !page.isHeldBack) return page
      const state = await slice().catch(unlessAway)
      if (state === undefined || state.lastSlice === page.lastSlice) return { ...page, ...state }
      return { ...(await readPage(database, after, options)), isHeldBack: state.isHeldBack }
    },
    findLast: async (places) => {
      await slice()
      const known = places.filter(({ id }) => id !== undefined)
      const row = requireRow(await database.query<FoundRow>(findLastStatement, [JSON.stringify(known)]))
      const isFromBeginning = places.some((one) => !isBefore(beginning, one))
      const place = row.place ?? (isFromBeginning ? beginning : undefined)
      return { place, timeline: requireTimeline(row.timeline) }
    },
    state: slice,
  }
}

/** The next page of what is in slices. `isHeldBack` says whether something is not. */
async function readPage(
  database: Pick<Database, 'query'>,
  after: Place,
  { limit, dealId, hidesDeleted = false }: ReadOptions,
): Promise<EventPage> {
  const statements = hidesDeleted ? readStatements.hiding : readStatements.whole
  for (let from = after; ; ) {
    const parameters = [from.slice, from.turn, from.position, limit].map(String)
    const row = requireRow(
      dealId === undefined
        ? await database.query<PageRow>(statements.all, parameters)
        : await database.query<PageRow>(statements.ofDeal, [...parameters, dealId]),
    )
    if (row.events !== null || !row.hasMore) return pageOf(row, { after, limit })
    // All events of these slices are gone.
    from = { slice: row.upTo ?? from.slice, turn: Number.MAX_SAFE_INTEGER, position: Number.MAX_SAFE_INTEGER }
  }
}

function pageOf(row: PageRow, { after, limit }: { after: Place; limit: number }): EventPage {
  const { runId, timeline } = runOf(row)
  const events = (row.events ?? []).map((event) => eventOfRow(event, timeline))
  const read = placeOf(events.at(-1) ?? after)
  const isLast = events.length < limit && !row.hasMore
  const end = isLast && row.last && isBefore(read, row.last) ? row.last : read
  return { events, end, isLast, isHeldBack: row.isAhead, lastSlice: row.lastSlice, runId, timeline }
}

/** @throws Unavailable on a standby, which makes no slices */
function runOf({ run, timeline: found }: RunRow): Pick<EventPage, 'runId' | 'timeline'> {
  const timeline = requireTimeline(found)
  return { runId: `${timeline} ${run}`, timeline }
}

const placeOf = ({ slice, turn, position, id }: Place): Place => ({ slice, turn, position, id })

/** The only row of a result: every statement here returns exactly one. */
function requireRow<Row>([row]: readonly Row[]): Row {
  if (row === undefined) throw new TypeError('a read of the event log returned no row')
  return row
}

/** While nothing can be written, what is in slices can be read all the same. */
function unlessAway(error: unknown): undefined {
  if (!(error instanceof Unavailable)) throw error
}

/** The event of a row, read from this timeline. */
export const eventOfRow = (row: EventRow, timeline: TimelineId): LoggedEvent => ({
  slice: row.slice,
  turn: row.turn,
  position: row.position,
  timeline,
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
