import { beginning, type EventLog, isBefore, type LoggedEvent, type Place, type RunId, wasThere } from './event-log.ts'

/** What a client wants to be told. */
export interface StreamRequest {
  /** After the event at this position, 0 for the beginning; undefined: from now on. */
  readonly after: number | undefined
  /** Of one deal alone. */
  readonly dealId: string | undefined
  /** Of these types alone. */
  readonly types: ReadonlySet<string> | undefined
}

/** Where a stream begins. */
export interface StreamStart {
  /** An event, or the beginning: what is up to it is no matter of this stream. */
  readonly place: Place
  /** What `includes` was worked out in; undefined where it needs no look. */
  readonly runId: RunId | undefined
  /** Of what comes after, what belongs to the stream. */
  includes(event: LoggedEvent): boolean
}

/**
 * Works out where a stream begins; undefined when there is no event at that position. A stream "from now on" gets exactly what is
 * committed after this look. One that resumes gets what comes after its position in the log's order; a position that does not show
 * yet, which a client may have from a deal's history, leaves out nothing that was not there when it was named.
 * @throws Unavailable
 */
export async function findStart(
  log: EventLog,
  { after, dealId, types }: StreamRequest,
): Promise<StreamStart | undefined> {
  const isWanted = (event: LoggedEvent): boolean =>
    (dealId === undefined || event.dealId === dealId) && (types === undefined || types.has(event.type))
  if (after === 0) return { place: beginning, runId: undefined, includes: isWanted }
  const { snapshot, runId, last, place } = await log.look(after)
  if (after === undefined) {
    return { place: last, runId, includes: (event) => !wasThere(event.xid, snapshot) && isWanted(event) }
  }
  if (place === undefined) return undefined
  if (place.xid < snapshot.xmin) return { place, runId, includes: isWanted }
  const isPast = (event: LoggedEvent) => !isBefore(place, event) && wasThere(event.xid, snapshot)
  return { place: last, runId, includes: (event) => !isPast(event) && isWanted(event) }
}
