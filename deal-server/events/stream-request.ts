import { timelineMark } from '../../shared/platform/database/timeline.ts'
import { ProblemError } from '../../shared/platform/problems/errors.ts'
import {
  beginning,
  type EventLog,
  type GivenPosition,
  type LoggedEvent,
  type LogSnapshot,
  type Place,
  type TimelineId,
  wasThereOn,
} from './event-log.ts'

/** The events that a client wants. */
export interface StreamRequest {
  /**
   * Events after this position: a plain one, or one part for each log; 0: all events; undefined: new events only.
   */
  readonly after: readonly GivenPosition[] | undefined
  /** Only events of this deal. */
  readonly dealId: string | undefined
  /** Only events of these types. */
  readonly types: ReadonlySet<string> | undefined
}

/** The start of a stream in one log. */
export interface StreamStart {
  /** The stream has no event up to this place. */
  readonly place: Place
  /** The timeline of the place; undefined when it is the beginning of every one. */
  readonly timeline: TimelineId | undefined
  /** The position of the place, or the given one while its event is not visible. */
  readonly position: GivenPosition
  /** True for an event after the place that belongs to the stream. */
  includes(event: LoggedEvent): boolean
}

/** What a stream wants of one log. */
export interface LogRequest {
  /** Undefined: new events only. */
  readonly after: GivenPosition | undefined
  isWanted(event: LoggedEvent): boolean
}

/** The test whether an event is one that the client wants. */
export const isWantedBy =
  ({ dealId, types }: Pick<StreamRequest, 'dealId' | 'types'>) =>
  (event: LoggedEvent): boolean =>
    (dealId === undefined || event.dealId === dealId) && (types === undefined || types.has(event.type))

/**
 * Finds the start of a stream in a log; undefined when no event has the position. A stream of new events gets those
 * that are committed from now on. A resumed stream gets the events after its position in the order of the log. While
 * the event at the position is not visible yet (clients can get one from a deal's history), that is all that follows.
 * @throws ProblemError `outdated-cursor` for a position that the log has lost; Unavailable
 */
export async function findStart(log: EventLog, { after, isWanted }: LogRequest): Promise<StreamStart | undefined> {
  const fromBeginning = { place: beginning, position: { position: 0, mark: undefined }, includes: isWanted }
  if (after?.position === 0 && after.mark === undefined) return { ...fromBeginning, timeline: undefined }
  const snapshot = await log.takeSnapshot(after?.position)
  const { timeline, last, place, isNotVisible } = snapshot
  const mark = timelineMark(timeline)
  const startAt = (at: Place) => ({ place: at, timeline, position: { position: at.position, mark } })
  if (after === undefined) return { ...startAt(last), includes: isWanted }
  if (!isOfPresent(after, snapshot)) throw outdatedPosition()
  if (after.position === 0) return { ...fromBeginning, timeline }
  if (place) return { ...startAt(place), includes: isWanted }
  if (!isNotVisible) return undefined
  const includes = (event: LoggedEvent) => event.position !== after.position && isWanted(event)
  return { ...startAt(last), position: { position: after.position, mark }, includes }
}

/** True for a position of the present timeline, and for one of a former timeline whose event is in this log. */
export function isOfPresent({ position, mark }: GivenPosition, { timeline, timelines, place }: LogSnapshot): boolean {
  if (mark === undefined || mark === timelineMark(timeline)) return true
  return (position === 0 || place !== undefined) && wasThereOn(mark, place ?? beginning, timelines)
}

/** The refusal of a position of another timeline. */
export const outdatedPosition = () =>
  new ProblemError(
    'outdated-cursor',
    'This event was lost when another PostgreSQL server took over: read the deals again, and follow the new events.',
  )
