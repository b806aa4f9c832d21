/**
 * The port to the events of all deals, in the order in which readers see them: by writing transaction, then by
 * position. An event becomes visible when all transactions older than its own have ended. So no event ever appears
 * before an event that was visible earlier (docs/deal-model.md#event-order). `store/event-log.ts` implements it.
 */
import { timelineMark } from '../../shared/platform/database/timeline.ts'

/**
 * The id of the timeline (`shared/platform/database/timeline.ts`). When it changes, another server took over, and
 * positions and numbers of transactions may stand for other events than before.
 */
export type TimelineId = string

/** An event as it was stored. Amounts in `data` are minor units of `currency`. */
export interface StoredEvent {
  readonly position: number
  /** The timeline that it was read from. */
  readonly timeline: TimelineId
  readonly id: string
  readonly dealId: string
  readonly sequence: number
  readonly dealVersion: number
  readonly type: string
  readonly data: Readonly<Record<string, unknown>>
  readonly currency: string
  readonly occurredAt: string
  readonly actor: string
  /** The immutable id of that user; null in old events. */
  readonly actorUserId: string | null
  readonly useCase: string
  readonly style: string
  readonly commandId: string | null
  readonly correlationId: string
  readonly schemaVersion: number
}

/**
 * A position as clients see it: the number, a hyphen, and a mark of the timeline, without which the number may stand
 * for another event.
 */
export const markedPosition = ({ position, timeline }: Pick<StoredEvent, 'position' | 'timeline'>): string =>
  `${position}-${timelineMark(timeline)}`

/** A position that a client brings back. Without a mark, the number is one of the present timeline. */
export interface GivenPosition {
  readonly position: number
  readonly mark: string | undefined
}

const positionPattern = /^(0|[1-9]\d{0,14})(?:-([0-9a-f]{12}))?$/

/** Reads a position; undefined for other text. */
export function parsePosition(text: string): GivenPosition | undefined {
  const [, position, mark] = positionPattern.exec(text) ?? []
  return position === undefined ? undefined : { position: Number(position), mark }
}

/** A place in the order of the log. Position 0 is before all events of its transaction. */
export interface Place {
  /** The number of the writing transaction. */
  readonly xid: number
  readonly position: number
  /** The id of the event there, where it is known. */
  readonly id?: string | undefined
}

/** The place before all events. */
export const beginning: Place = { xid: 0, position: 0 }

/** True when `a` comes first. */
export const isBefore = (a: Place, b: Place): boolean => a.xid < b.xid || (a.xid === b.xid && a.position < b.position)

/** An event with its transaction, and so with its place. */
export interface LoggedEvent extends StoredEvent, Omit<Place, 'id'> {
  /** True for events of a deleted or purged deal, except the deletion. Set only for reads with `hidesDeleted`. */
  readonly isHidden?: boolean
}

/** The transactions that had ended at one time (PostgreSQL's `pg_snapshot`). */
export interface Snapshot {
  /** All transactions below this one had ended. */
  readonly xmin: number
  /** This transaction and all above it had not begun to write. */
  readonly xmax: number
  /** The transactions between these two that were still running. */
  readonly running: ReadonlySet<number>
}

/** True when the snapshot sees the rows that the transaction `xid` wrote. */
export const isVisibleIn = (xid: number, { xmin, xmax, running }: Snapshot): boolean =>
  xid < xmin || (xid < xmax && !running.has(xid))

/**
 * The id of one run of one database. When it changes, the database crashed or another server took over, and numbers of
 * transactions may have been assigned again. Then an earlier horizon or snapshot has no meaning.
 */
export type RunId = string

/** A page of the log. */
export interface EventPage {
  readonly events: readonly LoggedEvent[]
  /**
   * The place of the last event, or the place before the page when it is empty. A visible event is durable. So this
   * place stays correct after a crash; the horizon does not.
   */
  readonly end: Place
  /** With `isLast`: all events of transactions below this one were read, and none can follow in this run. */
  readonly horizon: number
  readonly runId: RunId
  readonly timeline: TimelineId
  /** True when no more events are visible now. */
  readonly isLast: boolean
  /** The transaction of the first event that is written but not visible yet. */
  readonly heldBack: number | undefined
}

/** The state of the log, for readiness and metrics. */
export interface LogState {
  /** Events of this transaction and of all above it are not visible yet. */
  readonly horizon: number
  /** As in `EventPage`. */
  readonly heldBack: number | undefined
  /**
   * True when the table has events of transactions that this database has not reached: it comes from another cluster.
   */
  readonly isRestored: boolean
}

/** Options of a read. */
export interface ReadOptions {
  readonly limit: number
  /** Reads the events of one deal only. */
  readonly dealId?: string | undefined
  /** Marks events of deleted deals as hidden: readers without the right to restore deals get only the deletion. */
  readonly hidesDeleted?: boolean
}

/** The log at one time. */
export interface LogSnapshot {
  readonly snapshot: Snapshot
  readonly runId: RunId
  readonly timeline: TimelineId
  /** The last visible event; the beginning when there is none. */
  readonly last: Place
  /** The place of the event at the given position; undefined without such an event. */
  readonly place: Place | undefined
}

/** Reads the events of all deals. */
export interface EventLog {
  /** The present state, and the place of a position. @throws Unavailable */
  takeSnapshot(position?: number): Promise<LogSnapshot>
  /** The visible events after a place, at most `limit`. @throws Unavailable */
  read(after: Place, options: ReadOptions): Promise<EventPage>
  /** The last of these places at which the same event is there, and the present timeline. @throws Unavailable */
  findLast(places: readonly Place[]): Promise<{ readonly place: Place | undefined; readonly timeline: TimelineId }>
  /** @throws Unavailable */
  state(): Promise<LogState>
}
