import type {
  EventLog,
  EventPage,
  LoggedEvent,
  LogSnapshot,
  LogState,
  ReadOptions,
} from '../../../deal-server/events/event-log.ts'
import { beginning, isBefore, type LogHistory, type Place, positionMark } from '../../../deal-server/events/position.ts'
import { Unavailable } from '../../../shared/platform/problems/errors.ts'

interface Written {
  /** Counts the events in the order in which they were written. */
  readonly event: number
  readonly dealId: string
}

/** What was made durable at once: a transaction with its events, or what entered the log together. */
type Entry =
  | { readonly xid: number; readonly events: readonly Written[] }
  | { readonly xid?: undefined; readonly events: readonly Written[] }

/** An event log as PostgreSQL would keep it, whose transactions are begun and ended one by one. */
export class SimulatedLog implements EventLog {
  /** Waited for before a read sees its snapshot, and again before it is answered. */
  delay: () => Promise<void> = async () => undefined
  isAway = false
  /** True: nothing can be written, so no event enters the log. */
  isStuck = false
  reads = 0
  /** Deals that are deleted. */
  readonly deleted = new Set<string>()
  readonly #running = new Map<number, Written[]>()
  #entries: Entry[] = []
  #nextXid = 10
  #nextEvent = 1
  #runId = 1
  #failovers = 0
  /** The present one is the last. A server does not know of one that began after what it has. */
  readonly #histories: LogHistory[] = [{ history: 'simulated.1', beginsAfter: 0 }]
  /** The last position of a former history that is still there, by its mark. */
  readonly #kept = new Map<string, number>()

  begin(): number {
    const xid = this.#nextXid
    this.#nextXid += 1
    this.#running.set(xid, [])
    return xid
  }

  running(): readonly number[] {
    return [...this.#running.keys()]
  }

  write(xid: number, dealId = 'deal'): number {
    const event = this.#nextEvent
    this.#nextEvent += 1
    this.#running.get(xid)?.push({ event, dealId })
    return event
  }

  commit(xid: number): void {
    this.#entries.push({ xid, events: this.#running.get(xid) ?? [] })
    this.#running.delete(xid)
  }

  rollBack(xid: number): void {
    this.#running.delete(xid)
  }

  /** The server dies and is started again. */
  crash(): void {
    this.#running.clear()
    this.#runId += 1
  }

  /** A standby takes over that has received nothing from the first transaction on that is not below `xid`. */
  fallBackTo(xid: number): void {
    const lost = this.#entries.findIndex((entry) => entry.xid !== undefined && entry.xid >= xid)
    this.failOver(lost < 0 ? 0 : this.#entries.length - lost)
  }

  /** A standby takes over that lacks so many of the last transactions and slices. */
  failOver(lost: number): void {
    this.#kept.set(positionMark(this.history()), this.#inLog().length)
    this.#entries = this.#entries.slice(0, Math.max(0, this.#entries.length - lost))
    this.#running.clear()
    this.#runId += 1
    const beginsAfter = this.#inLog().length
    for (const [mark, last] of this.#kept) this.#kept.set(mark, Math.min(last, beginsAfter))
    for (let last = this.#histories.at(-1); last && last.beginsAfter > beginsAfter; last = this.#histories.at(-1)) {
      this.#histories.pop()
      this.#kept.delete(positionMark(last.history))
    }
    this.#failovers += 1
    this.#histories.push({ history: `simulated.${this.#failovers + 1}`, beginsAfter })
  }

  history(): string {
    return this.#histories.at(-1)?.history ?? ''
  }

  /** True when a client that was shown this position with this mark can go on after it. */
  knows(position: number, mark: string | undefined): boolean {
    return mark === positionMark(this.history()) || position <= (this.#kept.get(mark ?? '') ?? -1)
  }

  /** Events in the order of the commits. */
  get committed(): number[] {
    return this.#committed().map(({ event }) => event)
  }

  /** All that was committed, in the order in which it is to be read. */
  inOrder(): LoggedEvent[] {
    this.#slice()
    return this.#logged()
  }

  async takeSnapshot(position?: number): Promise<LogSnapshot> {
    await this.#arrive()
    this.#slice()
    const events = this.#logged()
    const place = events.find((event) => event.position === position)
    const histories = [...this.#histories]
    const [runId, last] = [String(this.#runId), { ...(events.at(-1) ?? beginning), history: this.history() }]
    await this.delay()
    return { runId, histories, last, place }
  }

  async read(after: Place, { limit, dealId, hidesDeleted = false }: ReadOptions): Promise<EventPage> {
    await this.#arrive()
    this.reads += 1
    this.#slice()
    const all = this.#logged()
    const events = all
      .filter((event) => isBefore(after, event) && (!dealId || event.dealId === dealId))
      .slice(0, limit)
      .map((event) => (hidesDeleted && this.deleted.has(event.dealId) ? { ...event, isHidden: true } : event))
    const isLast = events.length < limit
    const last = all.at(-1) ?? beginning
    const end = { ...(isLast && isBefore(after, last) ? last : (events.at(-1) ?? after)), history: this.history() }
    const [state, runId] = [this.#state(), String(this.#runId)]
    await this.delay()
    return { events, isLast, end, ...state, runId }
  }

  async findLast(places: readonly Place[]): Promise<Place | undefined> {
    await this.#arrive()
    const all = this.#logged()
    const { beginsAfter } = this.#histories.at(-1) ?? { beginsAfter: 0 }
    const isHere = (place: Place) =>
      !isBefore(beginning, place) ||
      (place.position <= beginsAfter && all.some(({ position, id }) => position === place.position && id === place.id))
    const place = places
      .filter(isHere)
      .toSorted((a, b) => (isBefore(a, b) ? -1 : 1))
      .at(-1)
    return place && { ...place, history: this.history() }
  }

  async state(): Promise<LogState> {
    this.#slice()
    const state = this.#state()
    if (state.isIncomplete) throw new Unavailable('database')
    return state
  }

  #state(): LogState {
    const lastPosition = this.#inLog().length
    return { isIncomplete: lastPosition < this.#committed().length, lastPosition }
  }

  #committed(): Written[] {
    return this.#entries.flatMap(({ xid, events }) => (xid === undefined ? [] : events))
  }

  /** What has entered the log, in the order of positions. */
  #inLog(): Written[] {
    return this.#entries.flatMap(({ xid, events }) => (xid === undefined ? events : []))
  }

  #slice(): void {
    const known = new Set(this.#inLog())
    const events = this.#committed().filter((one) => !known.has(one))
    if (this.isStuck || events.length === 0) return
    this.#entries.push({ events: events.sort((a, b) => a.event - b.event) })
  }

  #logged(): LoggedEvent[] {
    return this.#inLog().map((written, index) => simulatedEvent(written, index + 1, this.history()))
  }

  async #arrive(): Promise<void> {
    await this.delay()
    if (this.isAway) throw new Unavailable('database')
  }
}

const simulatedEvent = ({ event, dealId }: Written, position: number, history: string): LoggedEvent => ({
  position,
  history,
  id: String(event),
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
