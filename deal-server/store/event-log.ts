/** The event log in PostgreSQL: a sequence of slices, each of which is made once and read by everybody. */
import type { Database } from '../../shared/platform/database/database.ts'
import type { JsonRow } from '../../shared/platform/database/statement.ts'
import { type History, requirePrimary } from '../../shared/platform/history/history.ts'
import { ignoreUnavailable } from '../../shared/platform/problems/errors.ts'
import type { Owned } from '../domain/own-deals.ts'
import type { EventLog, EventPage, LoggedEvent, LogState, ReadOptions } from '../events/event-log.ts'
import { beginning, isBefore, type LogHistory, type Place } from '../events/position.ts'
import {
  findLastStatement,
  lookStatement,
  readStatements,
  sliceStatement,
  snapshotStatement,
} from './event-statements.ts'
import { bucketOf } from './events/bucket.ts'
import { rfc3339OfRow } from './rows.ts'
import type { events } from './schema.ts'

/** A row of `deals.events` with its position. */
export interface EventRow extends Omit<JsonRow<typeof events>, 'bucket' | 'number'> {
  readonly position: number
  readonly is_hidden?: boolean
  readonly owner?: Owned | null
}

interface RunRow {
  readonly run: string
  /** Null on a standby. */
  readonly history: string | null
}

/** The result of `findLastStatement`. */
interface FoundRow extends RunRow {
  readonly place: Place | null
}

interface LookRow {
  readonly isAhead: boolean
  readonly lastPosition: number
}

interface PageRow extends LookRow, RunRow {
  readonly events: EventRow[] | null
  readonly last: Place | null
  readonly upTo: number | null
  readonly hasMore: boolean
}

interface SnapshotRow extends RunRow {
  readonly histories: readonly LogHistory[]
  readonly last: Place | null
  readonly place: Place | null
}

/** The event log of a database. */
export function createEventLog(database: Database): EventLog {
  /** Puts what was committed into slices. @throws Unavailable also while nothing can be written */
  const slice = async (): Promise<LogState> => {
    const { isAhead, ...seen } = requireRow(await database.query<LookRow>(lookStatement))
    const { lastPosition } = isAhead ? requireRow(await database.write<Omit<LookRow, 'isAhead'>>(sliceStatement)) : seen
    return { isIncomplete: false, lastPosition }
  }
  return {
    takeSnapshot: async (position) => {
      await slice().catch(ignoreUnavailable)
      const row = requireRow(await database.query<SnapshotRow>(...snapshotStatement({ position: position ?? null })))
      const { runId, history } = runOf(row)
      const last = { ...(row.last ?? beginning), history }
      return { runId, histories: row.histories, last, place: row.place ? { ...row.place, history } : undefined }
    },
    read: async (after, options) => {
      const page = await readPage(database, after, options)
      if (!page.isLast || !page.isIncomplete) return page
      const state = await slice().catch(ignoreUnavailable)
      return state === undefined ? page : { ...(await readPage(database, after, options)), isIncomplete: false }
    },
    findLast: async (places) => {
      await slice()
      const known = places.filter(({ id }) => id !== undefined)
      const row = requireRow(await database.query<FoundRow>(...findLastStatement({ places: known })))
      const isFromBeginning = places.some((one) => !isBefore(beginning, one))
      const place = row.place ?? (isFromBeginning ? beginning : undefined)
      return place && { ...place, history: requirePrimary(row.history) }
    },
    state: slice,
  }
}

/** The next page of what is in slices. `isIncomplete` says whether something is not. */
async function readPage(
  database: Database,
  after: Place,
  { limit, dealId, hidesDeleted = false }: ReadOptions,
): Promise<EventPage> {
  const statements = hidesDeleted ? readStatements.hiding : readStatements.whole
  for (let from = after; ; ) {
    const statement =
      dealId === undefined
        ? statements.all({ after: from.position, limit })
        : statements.ofDeal({ after: from.position, limit, dealId, bucket: bucketOf(dealId) })
    const row = requireRow(await database.query<PageRow>(...statement))
    if (row.events !== null || !row.hasMore) return pageOf(row, { after, limit })
    // All events of these slices are gone.
    from = { position: row.upTo ?? from.position }
  }
}

function pageOf(row: PageRow, { after, limit }: { after: Place; limit: number }): EventPage {
  const { runId, history } = runOf(row)
  const events = (row.events ?? []).map((event) => eventOfRow(event, history))
  const read = events.at(-1) ?? after
  const isLast = events.length < limit && !row.hasMore
  const { position, id } = isLast && row.last && isBefore(read, row.last) ? row.last : read
  const end = { position, id, history }
  return { events, end, isLast, isIncomplete: row.isAhead, lastPosition: row.lastPosition, runId }
}

/** @throws Unavailable on a standby, which makes no slices */
function runOf({ run, history: found }: RunRow): { runId: string; history: History } {
  const history = requirePrimary(found)
  return { runId: `${history} ${run}`, history }
}

/** The only row of a result: every statement here returns exactly one. */
function requireRow<Row>([row]: readonly Row[]): Row {
  if (row === undefined) throw new TypeError('a read of the event log returned no row')
  return row
}

/** The event of a row, read from this history. */
export const eventOfRow = (row: EventRow, history: History): LoggedEvent => ({
  position: row.position,
  history,
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
  client: row.client,
  useCase: row.use_case,
  style: row.style,
  commandId: row.command_id,
  correlationId: row.correlation_id,
  schemaVersion: row.schema_version,
  ...(row.is_hidden ? { isHidden: true } : {}),
  ...(row.owner === undefined ? {} : { owner: row.owner }),
})
