/**
 * The events of all deals in one order, as their readers see them. The order is that of the writing transactions, then of positions:
 * an event shows once every transaction that is older than its own has ended, so nothing ever appears before what was shown
 * (deal model 6.3). The store fulfils this (`store/event-log.ts`).
 */
import type { StoredEvent } from './repository.ts'

/** A place in that order. Position 0 is before all events of its transaction. */
export interface Place {
  /** The number of the writing transaction. */
  readonly xid: number
  readonly position: number
}

/** Before everything. */
export const beginning: Place = { xid: 0, position: 0 }

/** True when `a` comes first. */
export const isBefore = (a: Place, b: Place): boolean => a.xid < b.xid || (a.xid === b.xid && a.position < b.position)

/** An event with its transaction: a place too. */
export interface LoggedEvent extends StoredEvent, Place {}

/** Which transactions had ended at a moment. */
export interface Snapshot {
  /** All before this one had. */
  readonly xmin: number
  /** This one and all after it had not begun to write. */
  readonly xmax: number
  /** Those between that had not. */
  readonly running: ReadonlySet<number>
}

/** True when what the transaction `xid` wrote was there at the moment of the snapshot. */
export const wasThere = (xid: number, { xmin, xmax, running }: Snapshot): boolean =>
  xid < xmin || (xid < xmax && !running.has(xid))

/** A stretch of the log. */
export interface EventPage {
  readonly events: readonly LoggedEvent[]
  /** All events that will ever be before this place have been read. */
  readonly end: Place
  /** True when no further event shows at present. */
  readonly isLast: boolean
  /** The transaction of the first event that is there but does not show yet. */
  readonly heldBack: number | undefined
}

/** What the log looks like, for those who watch over it. */
export interface LogState {
  /** Events of this transaction and later ones do not show yet. */
  readonly horizon: number
  /** As in `EventPage`. */
  readonly heldBack: number | undefined
  /** True when there are events of transactions that this database has not reached: it was restored from another one. */
  readonly isRestored: boolean
}

export interface EventLog {
  /** The present moment; with the place of the event at `position`, if there is one. @throws Unavailable */
  look(position?: number): Promise<{ readonly snapshot: Snapshot; readonly place: Place | undefined }>
  /** At most `limit` events after the place, of one deal or of all. @throws Unavailable */
  read(after: Place, options: { readonly limit: number; readonly dealId?: string | undefined }): Promise<EventPage>
  /** @throws Unavailable */
  state(): Promise<LogState>
}
