import {
  type EventLog,
  type EventPage,
  isBefore,
  type LoggedEvent,
  type LogState,
  type Place,
  type Snapshot,
} from '../../../deal-server/domain/event-log.ts'
import { Unavailable } from '../../../shared/errors.ts'

interface Transaction {
  readonly xid: number
  readonly events: LoggedEvent[]
}

/** An event log as PostgreSQL would keep it, whose transactions are begun and ended one by one. */
export class SimulatedLog implements EventLog {
  /** Waited for before a read sees its snapshot, and again before it is answered. */
  delay: () => Promise<void> = async () => undefined
  isAway = false
  reads = 0
  /** In the order of the commits. */
  readonly committed: LoggedEvent[] = []
  readonly #running = new Map<number, Transaction>()
  #nextXid = 10
  #nextPosition = 1

  begin(): number {
    const xid = this.#nextXid
    this.#nextXid += 1
    this.#running.set(xid, { xid, events: [] })
    return xid
  }

  running(): readonly number[] {
    return [...this.#running.keys()]
  }

  write(xid: number, dealId = 'deal'): number {
    const position = this.#nextPosition
    this.#nextPosition += 1
    this.#running.get(xid)?.events.push(simulatedEvent({ xid, position }, dealId))
    return position
  }

  commit(xid: number): void {
    this.committed.push(...(this.#running.get(xid)?.events ?? []))
    this.#running.delete(xid)
  }

  rollBack(xid: number): void {
    this.#running.delete(xid)
  }

  /** A standby that had received nothing after `xid` takes over. */
  fallBackTo(xid: number): void {
    this.#nextXid = xid
    this.#running.clear()
    this.committed.splice(0, this.committed.length, ...this.committed.filter((event) => event.xid < xid))
  }

  /** All that was committed, in the order in which it is to be read. */
  inOrder(): LoggedEvent[] {
    return [...this.committed].sort((a, b) => (isBefore(a, b) ? -1 : 1))
  }

  async look(position?: number): Promise<{ snapshot: Snapshot; place: Place | undefined }> {
    await this.#arrive()
    const snapshot = { xmin: this.#horizon(), xmax: this.#nextXid, running: new Set(this.#running.keys()) }
    const place = this.committed.find((event) => event.position === position)
    await this.delay()
    return { snapshot, place: place && { xid: place.xid, position: place.position } }
  }

  async read(after: Place, { limit, dealId }: { limit: number; dealId?: string | undefined }): Promise<EventPage> {
    await this.#arrive()
    this.reads += 1
    const horizon = this.#horizon()
    const events = this.inOrder()
      .filter((event) => isBefore(after, event) && event.xid < horizon && (!dealId || event.dealId === dealId))
      .slice(0, limit)
    const isLast = events.length < limit
    const end = isLast ? { xid: horizon, position: 0 } : (events.at(-1) ?? after)
    const heldBack = this.#heldBack()
    await this.delay()
    return { events, isLast, end, heldBack }
  }

  async state(): Promise<LogState> {
    const isRestored = this.committed.some(({ xid }) => xid >= this.#nextXid)
    return { horizon: this.#horizon(), heldBack: this.#heldBack(), isRestored }
  }

  #heldBack(): number | undefined {
    return this.inOrder().find(({ xid }) => xid >= this.#horizon())?.xid
  }

  #horizon(): number {
    return Math.min(this.#nextXid, ...this.#running.keys())
  }

  async #arrive(): Promise<void> {
    await this.delay()
    if (this.isAway) throw new Unavailable('database')
  }
}

const simulatedEvent = (place: Place, dealId: string): LoggedEvent => ({
  ...place,
  id: String(place.position),
  dealId,
  sequence: 1,
  dealVersion: 1,
  type: 'deal.held',
  data: {},
  currency: 'EUR',
  occurredAt: '2026-01-01T00:00:00.000Z',
  actor: 'alice',
  useCase: 'HoldDeal',
  style: 'resource',
  commandId: null,
  correlationId: '',
  schemaVersion: 1,
})
