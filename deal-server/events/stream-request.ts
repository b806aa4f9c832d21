import { ProblemError } from '../../shared/platform/problems/errors.ts'
import type { EventLog, LoggedEvent, LogSnapshot } from './event-log.ts'
import { beginning, type GivenPosition, type Place, positionMark, wasThereIn } from './position.ts'

/** The events that a client wants. */
export interface StreamRequest {
  /** Events after this position; 0: all events; undefined: new events only. */
  readonly after: number | undefined
  /** The mark of the history that the position is of; undefined for the present one. */
  readonly mark?: string | undefined
  /** Only events of this deal. */
  readonly dealId: string | undefined
  /** Only events of these types. */
  readonly types: ReadonlySet<string> | undefined
}

/** The test whether an event is one that the client wants. */
export const isWantedBy =
  ({ dealId, types }: StreamRequest) =>
  (event: LoggedEvent): boolean =>
    (dealId === undefined || event.dealId === dealId) && (types === undefined || types.has(event.type))

/**
 * Finds the place behind which a stream has events; undefined when no event has the position. A stream of new events
 * gets those that are committed from now on. A resumed stream gets the events after its position.
 * @throws ProblemError `outdated-cursor` for a position that the log has lost; Unavailable
 */
export async function findStart(log: EventLog, request: StreamRequest): Promise<Place | undefined> {
  const { after, mark } = request
  if (after === 0 && mark === undefined) return beginning
  const snapshot = await log.takeSnapshot(after)
  const { last, place } = snapshot
  if (after === undefined) return last
  if (!isOfPresent({ position: after, mark }, snapshot)) throw outdatedPosition()
  return after === 0 ? { ...beginning, history: last.history } : place
}

/** True for a position of the present history, and for one of a former history whose event is in this log. */
export function isOfPresent({ position, mark }: GivenPosition, { last, histories, place }: LogSnapshot): boolean {
  if (mark === undefined || mark === (last.history && positionMark(last.history))) return true
  return (position === 0 || place !== undefined) && wasThereIn(mark, place ?? beginning, histories)
}

/** The refusal of a position of another history. */
export const outdatedPosition = () =>
  new ProblemError(
    'outdated-cursor',
    'This event was lost when another PostgreSQL server took over: read the deals again, and follow the new events.',
  )
