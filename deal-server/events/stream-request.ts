import {
  beginning,
  type EventLog,
  isBefore,
  isVisibleIn,
  type LoggedEvent,
  type Place,
  type RunId,
} from './event-log.ts'

/** The events that a client wants. */
export interface StreamRequest {
  /** Events after this position; 0: all events; undefined: new events only. */
  readonly after: number | undefined
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
  /** True for an event after the place that belongs to the stream. */
  includes(event: LoggedEvent): boolean
}

/**
 * Finds the start of a stream; undefined when no event has the position. A stream of new events gets exactly the events
 * that are committed after this snapshot. A resumed stream gets the events after its position in the order of the log.
 * A position that is not visible yet (clients can get one from a deal's history) skips only events that existed at the
 * time of the request.
 * @throws Unavailable
 */
export async function findStart(
  log: EventLog,
  { after, dealId, types }: StreamRequest,
): Promise<StreamStart | undefined> {
  const isWanted = (event: LoggedEvent): boolean =>
    (dealId === undefined || event.dealId === dealId) && (types === undefined || types.has(event.type))
  if (after === 0) return { place: beginning, runId: undefined, includes: isWanted }
  const { snapshot, runId, last, place } = await log.takeSnapshot(after)
  if (after === undefined) {
    return { place: last, runId, includes: (event) => !isVisibleIn(event.xid, snapshot) && isWanted(event) }
  }
  if (place === undefined) return undefined
  if (place.xid < snapshot.xmin) return { place, runId, includes: isWanted }
  const isPast = (event: LoggedEvent) => !isBefore(place, event) && isVisibleIn(event.xid, snapshot)
  return { place: last, runId, includes: (event) => !isPast(event) && isWanted(event) }
}
