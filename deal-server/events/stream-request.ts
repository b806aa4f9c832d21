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
  /** Events after this position; 0: all events; undefined: new events only. */
  readonly after: number | undefined
  /** The mark of the timeline that the position is of; undefined for the present one. */
  readonly mark?: string | undefined
  /** Only events of this deal. */
  readonly dealId: string | undefined
  /** Only events of these types. */
  readonly types: ReadonlySet<string> | undefined
}

/** The start of a stream. */
export interface StreamStart {
  /** The stream has no event up to this place. */
  readonly place: Place
  /** The timeline of the place; undefined when it is the beginning of every one. */
  readonly timeline: TimelineId | undefined
  /** True for an event after the place that belongs to the stream. */
  includes(event: LoggedEvent): boolean
}

/** The test whether an event is one that the client wants. */
export const isWantedBy =
  ({ dealId, types }: Pick<StreamRequest, 'dealId' | 'types'>) =>
  (event: LoggedEvent): boolean =>
    (dealId === undefined || event.dealId === dealId) && (types === undefined || types.has(event.type))

/**
 * Finds the start of a stream; undefined when no event has the position. A stream of new events gets those that are
 * committed from now on. A resumed stream gets the events after its position in the order of the log. While the event
 * at the position is not visible yet (clients can get one from a deal's history), that is all that follows.
 * @throws ProblemError `outdated-cursor` for a position that the log has lost; Unavailable
 */
export async function findStart(log: EventLog, request: StreamRequest): Promise<StreamStart | undefined> {
  const { after, mark } = request
  const isWanted = isWantedBy(request)
  if (after === 0 && mark === undefined) return { place: beginning, timeline: undefined, includes: isWanted }
  const snapshot = await log.takeSnapshot(after)
  const { timeline, last, place, isNotVisible } = snapshot
  if (after === undefined) return { place: last, timeline, includes: isWanted }
  if (!isOfPresent({ position: after, mark }, snapshot)) throw outdatedPosition()
  if (after === 0) return { place: beginning, timeline, includes: isWanted }
  if (place) return { place, timeline, includes: isWanted }
  if (!isNotVisible) return undefined
  return { place: last, timeline, includes: (event) => event.position !== after && isWanted(event) }
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
