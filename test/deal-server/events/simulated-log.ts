import {
  beginning,
  type EventLog,
  type EventPage,
  isBefore,
  type LoggedEvent,
  type LogSnapshot,
  type LogState,
  type Place,
  type ReadOptions,
} from '../../../deal-server/events/event-log.ts'
import { Unavailable } from '../../../shared/platform/problems/errors.ts'

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
  /** Deals that are deleted. */
  readonly deleted = new Set<string>()
  /** In the order of the commits. */
  readonly committed: LoggedEvent[] = []
  readonly #running = new Map<number, Transaction>()
  #nextXid = 10
  #nextPosition = 1
  #runId = 1
  #timeline = 1

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

  /** The server dies and is started again: of numbers of transactions it knows those alone that committed ones have. */
  crash(): void {
    this.#nextXid = Math.max(9, ...this.committed.map(({ xid }) => xid)) + 1
    this.#running.clear()
    this.#runId += 1
  }

  /** A standby that had received nothing after `xid` takes over. */
  fallBackTo(xid: number): void {
    this.#nextXid = xid
    this.#running.clear()
    this.#runId += 1
    this.#timeline += 1
    this.committed.splice(0, this.committed.length, ...this.committed.filter((event) => event.xid < xid))
  }

  timeline(): string {
    return `simulated.${this.#timeline}`
  }

  /** All that was committed, in the order in which it is to be read. */
  inOrder(): LoggedEvent[] {
    return [...this.committed].sort((a, b) => (isBefore(a, b) ? -1 : 1))
  }

  async takeSnapshot(position?: number): Promise<LogSnapshot> {
    await this.#arrive()
    const snapshot = { xmin: this.#horizon(), xmax: this.#nextXid, running: new Set(this.#running.keys()) }
    const place = this.committed.find((event) => event.position === position)
    const last = this.inOrder().findLast(({ xid }) => xid < snapshot.xmin) ?? beginning
    const [runId, timeline] = [String(this.#runId), this.timeline()]
    await this.delay()
    return { snapshot, runId, timeline, last, place }
  }

  async read(after: Place, { limit, dealId, hidesDeleted = false }: ReadOptions): Promise<EventPage> {
    await this.#arrive()
    this.reads += 1
    const horizon = this.#horizon()
    const events = this.inOrder()
      .filter((event) => isBefore(after, event) && event.xid < horizon && (!dealId || event.dealId === dealId))
      .slice(0, limit)
      .map((event) => ({ ...event, timeline: this.timeline() }))
      .map((event) => (hidesDeleted && this.deleted.has(event.dealId) ? { ...event, isHidden: true } : event))
    const isLast = events.length < limit
    const lastShown = this.inOrder().findLast(({ xid }) => xid < horizon) ?? beginning
    const end = isLast && isBefore(after, lastShown) ? lastShown : (events.at(-1) ?? after)
    const [heldBack, runId, timeline] = [this.#heldBack(), String(this.#runId), this.timeline()]
    await this.delay()
    return { events, isLast, end, horizon, heldBack, runId, timeline }
  }

  async findLast(places: readonly Place[]): Promise<{ place: Place | undefined; timeline: string }> {
    await this.#arrive()
    const isHere = ({ xid, position, id }: Place) =>
      xid === beginning.xid ||
      this.committed.some((one) => one.xid === xid && one.position === position && one.id === id)
    const place = places
      .filter(isHere)
      .toSorted((a, b) => (isBefore(a, b) ? -1 : 1))
      .at(-1)
    return { place, timeline: this.timeline() }
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
  timeline: '',
  id: String(place.position),
  dealId,
  sequence: 1,
  dealVersion: 1,
  type: 'deal.held',
  data: {},
  currency: 'EUR',
  occurredAt: '2026-01-01T00:00:00.000Z',
  actor: 'alice',
  actorUserId: null,
  useCase: 'HoldDeal',
  style: 'resource',
  commandId: null,
  correlationId: '',
  schemaVersion: 1,
})
