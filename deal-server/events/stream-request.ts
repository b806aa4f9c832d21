import { timelineMark } from '../../shared/platform/database/timeline.ts'
import { ProblemError } from '../../shared/platform/problems/errors.ts'
import {
  beginning,
  type EventLog,
  isBefore,
  isVisibleIn,
  type LoggedEvent,
  type Place,
  type RunId,
  type TimelineId,
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
  /** The run of the database for which `includes` is valid; undefined when it is valid for all. */
  readonly runId: RunId | undefined
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
 * Finds the start of a stream; undefined when no event has the position. A stream of new events gets exactly the events
 * that are committed after this snapshot. A resumed stream gets the events after its position in the order of the log.
 * A position that is not visible yet (clients can get one from a deal's history) skips only events that existed at the
 * time of the request.
 * @throws ProblemError `outdated-cursor` for a position of another timeline; Unavailable
 */
export async function findStart(log: EventLog, request: StreamRequest): Promise<StreamStart | undefined> {
  const { after, mark } = request
  const isWanted = isWantedBy(request)
  if (after === 0 && mark === undefined)
    return { place: beginning, runId: undefined, timeline: undefined, includes: isWanted }
  const { snapshot, runId, timeline, last, place } = await log.takeSnapshot(after)
  if (after === undefined) {
    return { place: last, runId, timeline, includes: (event) => !isVisibleIn(event.xid, snapshot) && isWanted(event) }
  }
  if (mark !== undefined && mark !== timelineMark(timeline)) throw outdatedPosition()
  if (after === 0) return { place: beginning, runId: undefined, timeline, includes: isWanted }
  if (place === undefined) return undefined
  if (place.xid < snapshot.xmin) return { place, runId: undefined, timeline, includes: isWanted }
  const isPast = (event: LoggedEvent) => !isBefore(place, event) && isVisibleIn(event.xid, snapshot)
  return { place: last, runId, timeline, includes: (event) => !isPast(event) && isWanted(event) }
}

/** The refusal of a position of another timeline. */
export const outdatedPosition = () =>
  new ProblemError(
    'outdated-cursor',
    'Another PostgreSQL server has taken over since this event: read the deals again, and follow the new events.',
  )
