/**
 * The port to the events of all deals, in the order in which readers see them. The log is a sequence of slices. A slice
 * has what was committed since the one before, and never changes. So no event ever appears before an event that was
 * visible earlier (docs/deal-model.md#event-order). `store/event-log.ts` implements it.
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

/** A place in the order of the log. */
export interface Place {
  /** 0: before there were slices. */
  readonly slice: number
  /** Comes before the position where events are in the order of their transactions; else 0. */
  readonly turn: number
  readonly position: number
  /** The id of the event there, where it is known. */
  readonly id?: string | undefined
}

/** The place before all events. */
export const beginning: Place = { slice: 0, turn: 0, position: 0 }

/** True when `a` comes first. */
export const isBefore = (a: Place, b: Place): boolean =>
  a.slice - b.slice < 0 || (a.slice === b.slice && (a.turn < b.turn || (a.turn === b.turn && a.position < b.position)))

/** A timeline on which slices were made. */
export interface LogTimeline {
  readonly timeline: TimelineId
  /** The first slice that was made on it. */
  readonly firstSlice: number
}

/**
 * True when the event at this place was there on the timeline with this mark: its slice was made before the next one
 * began. A position of an event that was lost may have been given out again since.
 */
export const wasThereOn = (mark: string, { slice }: Pick<Place, 'slice'>, timelines: readonly LogTimeline[]): boolean =>
  timelines.some(
    ({ timeline }, index) =>
      timelineMark(timeline) === mark && slice < (timelines[index + 1]?.firstSlice ?? Number.POSITIVE_INFINITY),
  )

/** An event with its place. */
export interface LoggedEvent extends StoredEvent, Omit<Place, 'id'> {
  /** True for events of a deleted or purged deal, except the deletion. Set only for reads with `hidesDeleted`. */
  readonly isHidden?: boolean
}

/** The id of one run of one database. When it changes, the database was restarted, or another server took over. */
export type RunId = string

/** A page of the log. */
export interface EventPage {
  readonly events: readonly LoggedEvent[]
  /** The place of the last event, or the place before the page when it is empty. */
  readonly end: Place
  readonly runId: RunId
  readonly timeline: TimelineId
  /** True when no more events are visible now. */
  readonly isLast: boolean
  /** True when committed events are not visible yet. Then it is worth to read again soon. */
  readonly isHeldBack: boolean
  /** The last slice. */
  readonly lastSlice: number
}

/** The state of the log, for readiness and metrics. */
export type LogState = Pick<EventPage, 'isHeldBack' | 'lastSlice'>

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
  readonly runId: RunId
  readonly timeline: TimelineId
  /** All of them, the present one last. */
  readonly timelines: readonly LogTimeline[]
  /** The last visible event; the beginning when there is none. */
  readonly last: Place
  /** The place of the event at the given position; undefined without such an event, and while it is not visible. */
  readonly place: Place | undefined
  /** True when the event at the given position is there, but not visible yet. */
  readonly isNotVisible: boolean
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
