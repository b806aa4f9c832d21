/**
 * The port to the events of all deals, in the order of their positions. An event enters the log behind all that are
 * there. So no event ever appears before an event that was visible earlier (docs/deal-model.md#event-order).
 * `store/event-log.ts` implements it.
 */
import type { History } from '../../shared/platform/history/history.ts'
import type { Application } from '../../shared/protocol/authentication/application.ts'
import type { Owned } from '../domain/own-deals.ts'
import type { LogHistory, Place } from './position.ts'

/** An event as it was stored. Amounts in `data` are minor units of `currency`. */
export interface StoredEvent extends Place {
  readonly history: History
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
  /** The application by which that user sent the command; absent or null for the user's own credentials. */
  readonly client?: Application | null
  readonly useCase: string
  readonly style: string
  readonly commandId: string | null
  readonly correlationId: string
  readonly schemaVersion: number
}

/** An event of the log. */
export interface LoggedEvent extends StoredEvent {
  /** True for events of a deleted or purged deal, except the deletion. Set only for reads with `hidesDeleted`. */
  readonly isHidden?: boolean
  /** Whose the deal is now; null for a purged deal. Set only in reads of the log. */
  readonly owner?: Owned | null
}

/** The id of one run of one database. When it changes, the database was restarted, or another server took over. */
export type RunId = string

/** A page of the log. */
export interface EventPage {
  readonly events: readonly LoggedEvent[]
  /** The place of the last event, or the place before the page when it is empty. */
  readonly end: Place
  readonly runId: RunId
  /** True when no more events are visible now. */
  readonly isLast: boolean
  /** True when committed events could not enter the log: nothing can be written now. */
  readonly isIncomplete: boolean
  /** Of the last event in the log. */
  readonly lastPosition: number
}

/** The state of the log, for readiness and metrics. */
export type LogState = Pick<EventPage, 'isIncomplete' | 'lastPosition'>

/** Options of a read. */
export interface ReadOptions {
  readonly limit: number
  /** Reads the events of one deal only. */
  readonly dealId?: string | undefined
  /** Marks events of deleted deals as hidden: readers who may not restore the deal get only the deletion. */
  readonly hidesDeleted?: boolean
}

/** The log at one time. */
export interface LogSnapshot {
  readonly runId: RunId
  /** All of them, the present one last. */
  readonly histories: readonly LogHistory[]
  /** The last visible event; the beginning when there is none. It names the present history. */
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
  /** The last of these places at which the same event is there, in the present history. @throws Unavailable */
  findLast(places: readonly Place[]): Promise<Place | undefined>
  /** The present state. @throws Unavailable also while committed events cannot enter the log */
  state(): Promise<LogState>
}
