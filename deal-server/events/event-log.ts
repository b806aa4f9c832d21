/**
 * The events of all deals in one order, as their readers see them. The order is that of the writing transactions, then of positions:
 * an event shows once every transaction that is older than its own has ended, so nothing ever appears before what was shown
 * (docs/deal-model.md#event-order). The store fulfils this (`store/event-log.ts`).
 */

/** An event as it was stored. Amounts in `data` are minor units of `currency`. */
export interface StoredEvent {
  readonly position: number
  readonly id: string
  readonly dealId: string
  readonly sequence: number
  readonly dealVersion: number
  readonly type: string
  readonly data: Readonly<Record<string, unknown>>
  readonly currency: string
  readonly occurredAt: string
  readonly actor: string
  /** The immutable id of that user; null in events of before it was kept. */
  readonly actorUserId: string | null
  readonly useCase: string
  readonly style: string
  readonly commandId: string | null
  readonly correlationId: string
  readonly schemaVersion: number
}

/** A place in the order of the log. Position 0 is before all events of its transaction. */
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
export interface LoggedEvent extends StoredEvent, Place {
  /** True for an event of a deal that is deleted or purged, but for its deletion; worked out where `hidesDeleted` asks for it. */
  readonly isHidden?: boolean
}

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

/**
 * Which run of which database a look was made in. When it changes, a crash or another server that took over may have given numbers of
 * transactions out anew: what was concluded from the horizon or a snapshot of before is worth nothing.
 */
export type RunId = string

/** A stretch of the log. */
export interface EventPage {
  readonly events: readonly LoggedEvent[]
  /**
   * The last event that there was to read, else the place that the page was to begin after. An event that shows is durable, so, other
   * than the horizon, this place stays right whatever crashes.
   */
  readonly end: Place
  /** With `isLast`: events of earlier transactions have all been read, and none can come in this incarnation. */
  readonly horizon: number
  readonly runId: RunId
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

/** At most `limit` events after a place, of one deal or of all. */
export interface ReadOptions {
  readonly limit: number
  readonly dealId?: string | undefined
  /** Marks events of deleted deals as hidden: a reader who may not restore deals learns the deletion of them, and nothing else. */
  readonly hidesDeleted?: boolean
}

/** The present moment. */
export interface Look {
  readonly snapshot: Snapshot
  readonly runId: RunId
  /** The last event that shows; the beginning when there is none. */
  readonly last: Place
  /** The place of the event at the position that was asked for, if there is one. */
  readonly place: Place | undefined
}

export interface EventLog {
  /** @throws Unavailable */
  look(position?: number): Promise<Look>
  /** @throws Unavailable */
  read(after: Place, options: ReadOptions): Promise<EventPage>
  /** @throws Unavailable */
  state(): Promise<LogState>
}
