import {
  beginning,
  type EventLog,
  type EventPage,
  isBefore,
  type LoggedEvent,
  type LogSnapshot,
  type LogState,
  type LogTimeline,
  type Place,
  type ReadOptions,
} from '../../../deal-server/events/event-log.ts'
import { timelineMark } from '../../../shared/platform/database/timeline.ts'
import { Unavailable } from '../../../shared/platform/problems/errors.ts'

interface Written {
  readonly position: number
  readonly dealId: string
}

/** What was made durable at once: a transaction with its events, or a slice. */
type Entry =
  | { readonly xid: number; readonly events: readonly Written[] }
  | { readonly slice: number; readonly positions: ReadonlySet<number> }

/** An event log as PostgreSQL would keep it, whose transactions are begun and ended one by one. */
export class SimulatedLog implements EventLog {
  /** Waited for before a read sees its snapshot, and again before it is answered. */
  delay: () => Promise<void> = async () => undefined
  isAway = false
  /** True: no slice can be made. */
  isStuck = false
  reads = 0
  /** Deals that are deleted. */
  readonly deleted = new Set<string>()
  readonly #running = new Map<number, Written[]>()
  #entries: Entry[] = []
  #nextXid = 10
  #nextPosition = 1
  #runId = 1
  #failovers = 0
  /** The present one is the last. A server does not know of one that began after what it has. */
  readonly #timelines: LogTimeline[] = [{ timeline: 'simulated.1', firstSlice: 1 }]
  /** What was visible on a former timeline, and still is, by its mark. */
  readonly #kept = new Map<string, Set<number>>()

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
    const position = this.#nextPosition
    this.#nextPosition += 1
    this.#running.get(xid)?.push({ position, dealId })
    return position
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
    const lost = this.#entries.findIndex((entry) => 'xid' in entry && entry.xid >= xid)
    this.failOver(lost < 0 ? 0 : this.#entries.length - lost)
  }

  /** A standby takes over that lacks so many of the last transactions and slices. */
  failOver(lost: number): void {
    const before = this.#visible()
    const mark = timelineMark(this.timeline())
    this.#entries = this.#entries.slice(0, Math.max(0, this.#entries.length - lost))
    this.#running.clear()
    this.#runId += 1
    const after = this.#visible()
    this.#kept.set(mark, before)
    for (const kept of this.#kept.values()) for (const position of kept) if (!after.has(position)) kept.delete(position)
    const firstSlice = this.#lastSlice() + 1
    for (let last = this.#timelines.at(-1); last && last.firstSlice > firstSlice; last = this.#timelines.at(-1)) {
      this.#timelines.pop()
      this.#kept.delete(timelineMark(last.timeline))
    }
    this.#failovers += 1
    this.#timelines.push({ timeline: `simulated.${this.#failovers + 1}`, firstSlice })
  }

  timeline(): string {
    return this.#timelines.at(-1)?.timeline ?? ''
  }

  /** True when a client that was shown this position with this mark can go on after it. */
  knows(position: number, mark: string | undefined): boolean {
    return mark === timelineMark(this.timeline()) || this.#kept.get(mark ?? '')?.has(position) === true
  }

  /** Positions in the order of the commits. */
  get committed(): number[] {
    return this.#entries.flatMap((entry) => ('xid' in entry ? entry.events.map(({ position }) => position) : []))
  }

  /** All that was committed, in the order in which it is to be read. */
  inOrder(): LoggedEvent[] {
    this.#slice()
    return this.#inSlices()
  }

  async takeSnapshot(position?: number): Promise<LogSnapshot> {
    await this.#arrive()
    this.#slice()
    const events = this.#inSlices()
    const place = events.find((event) => event.position === position)
    const isNotVisible = place === undefined && this.committed.includes(position ?? 0)
    const timelines = [...this.#timelines]
    const [runId, timeline, last] = [String(this.#runId), this.timeline(), events.at(-1) ?? beginning]
    await this.delay()
    return { runId, timeline, timelines, last, place, isNotVisible }
  }

  async read(after: Place, { limit, dealId, hidesDeleted = false }: ReadOptions): Promise<EventPage> {
    await this.#arrive()
    this.reads += 1
    this.#slice()
    const all = this.#inSlices()
    const events = all
      .filter((event) => isBefore(after, event) && (!dealId || event.dealId === dealId))
      .slice(0, limit)
      .map((event) => (hidesDeleted && this.deleted.has(event.dealId) ? { ...event, isHidden: true } : event))
    const isLast = events.length < limit
    const last = all.at(-1) ?? beginning
    const end = isLast && isBefore(after, last) ? last : (events.at(-1) ?? after)
    const [state, runId, timeline] = [this.#state(), String(this.#runId), this.timeline()]
    await this.delay()
    return { events, isLast, end, ...state, runId, timeline }
  }

  async findLast(places: readonly Place[]): Promise<{ place: Place | undefined; timeline: string }> {
    await this.#arrive()
    const all = this.#inSlices()
    const { firstSlice } = this.#timelines.at(-1) ?? { firstSlice: 0 }
    const isHere = (place: Place) =>
      !isBefore(beginning, place) ||
      (place.slice < firstSlice &&
        all.some((one) => one.slice === place.slice && one.position === place.position && one.id === place.id))
    const place = places
      .filter(isHere)
      .toSorted((a, b) => (isBefore(a, b) ? -1 : 1))
      .at(-1)
    return { place, timeline: this.timeline() }
  }

  async state(): Promise<LogState> {
    this.#slice()
    return this.#state()
  }

  #state(): LogState {
    return { isHeldBack: this.#visible().size < this.committed.length, lastSlice: this.#lastSlice() }
  }

  #lastSlice(): number {
    return Math.max(0, ...this.#entries.map((entry) => ('slice' in entry ? entry.slice : 0)))
  }

  #visible(): Set<number> {
    return new Set(this.#entries.flatMap((entry) => ('slice' in entry ? [...entry.positions] : [])))
  }

  #slice(): void {
    const visible = this.#visible()
    const positions = this.committed.filter((position) => !visible.has(position))
    if (this.isStuck || positions.length === 0) return
    const slice = Math.max(this.#lastSlice() + 1, ...positions)
    this.#entries.push({ slice, positions: new Set(positions) })
  }

  #inSlices(): LoggedEvent[] {
    const deals = new Map(
      this.#entries.flatMap((entry) => ('xid' in entry ? entry.events.map((one) => [one.position, one.dealId]) : [])),
    )
    const places = this.#entries.flatMap((entry): Place[] =>
      'slice' in entry ? [...entry.positions].map((position) => ({ slice: entry.slice, turn: 0, position })) : [],
    )
    return places
      .sort((a, b) => (isBefore(a, b) ? -1 : 1))
      .map((place) => simulatedEvent(place, deals.get(place.position) as string, this.timeline()))
  }

  async #arrive(): Promise<void> {
    await this.delay()
    if (this.isAway) throw new Unavailable('database')
  }
}

const simulatedEvent = (place: Place, dealId: string, timeline: string): LoggedEvent => ({
  ...place,
  timeline,
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
