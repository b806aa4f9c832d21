/**
 * The shared reader of the event log: it reads new events once for all streams of the process. It reads after a
 * wake-up and at an interval. Without followers it does not read.
 */

import type { Clock } from '../../shared/platform/clock.ts'
import { Signal } from '../../shared/platform/concurrency/signal.ts'
import { encodeEvent } from './encode-event.ts'
import type { EventPage, LoggedEvent, LogState } from './event-log.ts'
import type { EventSystems } from './event-systems.ts'
import { beginning, isBefore, type Place } from './position.ts'
import { type Fork, Trail } from './trail.ts'

/** An event and its text on a stream. */
export interface EncodedEvent {
  readonly event: LoggedEvent
  readonly text: Uint8Array
}

/** A page of the log. Its events are encoded once for all streams. */
export interface EncodedPage {
  readonly events: readonly EncodedEvent[]
  readonly end: Place
}

/** A stream that gets its events from the shared reader. */
export interface Follower {
  /** Gets the next page; pages come in order and without gaps. */
  onPage(page: EncodedPage): void
  /** The database was restarted, or another one took over: it follows no longer, and must begin again here. */
  onRestart(present: Place): void
}

interface ReaderOptions {
  /** The interval of reads without a wake-up, in milliseconds. */
  readonly pollMs: number
  /** The largest number of events in a page. */
  readonly pageSize: number
}

/** The shortest time between two reads, in milliseconds. Wake-ups within it share one read. */
const shortestIntervalMs = 5

/** Reads the log for all followers of a process. */
export class EventReader {
  readonly lag: EventLag
  readonly #systems: EventSystems
  readonly #options: ReaderOptions
  readonly #followers = new Set<Follower>()
  readonly #trail: Trail
  /**
   * The place of the last event that followers got. Only events move it. Without followers the state has no meaning.
   */
  #place: Place = beginning
  #runId = ''
  #isRunning = false
  readonly #wakeUp = new Signal()

  constructor(systems: EventSystems, options: ReaderOptions) {
    this.lag = new EventLag(systems.clock)
    this.#systems = systems
    this.#options = options
    this.#trail = new Trail(systems.eventLog)
  }

  /**
   * Adds a follower that has read the whole log, with `page` as its last page. It gets every later page; a page may
   * repeat events that the follower read itself. Returns false when the reader is ahead of the follower, or has not
   * read the follower's run of the database: then the follower must continue to read by itself.
   */
  join(follower: Follower, { end, runId }: EventPage): boolean {
    if (this.#followers.size === 0) {
      this.#place = { ...end }
      this.#runId = runId
      this.#trail.add([end])
    } else if (runId !== this.#runId) {
      this.wakeUp()
      return false
    } else if (isBefore(end, this.#place)) return false
    this.#followers.add(follower)
    if (!this.#isRunning) void this.#run()
    return true
  }

  /** Removes a follower. */
  leave(follower: Follower): void {
    this.#followers.delete(follower)
    if (this.#followers.size === 0) this.#wakeUp.raise()
  }

  /** Where the log of this history parted from what streams were sent. @throws Unavailable */
  forkTo(history: Place['history']): Promise<Fork> {
    return this.#trail.forkTo(history)
  }

  /** Wakes the reader: there may be new events. */
  wakeUp(): void {
    this.#wakeUp.raise()
  }

  async #run(): Promise<void> {
    this.#isRunning = true
    while (this.#followers.size > 0) {
      const started = this.#systems.clock.monotonic()
      const page = await this.#readPage()
      if (page && !page.isLast) continue
      await this.#pause(started)
    }
    this.#isRunning = false
  }

  /** The next page; undefined when the log cannot be read now. */
  async #readPage(): Promise<EventPage | undefined> {
    const { eventLog, represent, log } = this.#systems
    const place = this.#place
    this.#wakeUp.clear()
    try {
      const page = await eventLog.read(place, { limit: this.#options.pageSize })
      const isRestarted = page.runId !== this.#runId
      // Before streams join again and begin a new trail.
      if (isRestarted) await this.#trail.forkTo(page.end.history)
      // All followers have left, and a new one has joined at another place: read again from there.
      if (place !== this.#place) return { ...page, isLast: false }
      this.lag.observe(page)
      if (isRestarted) return this.#onRestart(page)
      this.#place = page.end
      this.#trail.add(page.events)
      const encoded = {
        events: page.events.map((event) => ({ event, text: encodeEvent(event, represent(event)) })),
        end: page.end,
      }
      for (const follower of [...this.#followers]) follower.onPage(encoded)
      return page
    } catch (err) {
      log.warn({ err }, 'The events could not be read')
      return undefined
    }
  }

  /** Lets all streams go: after a crash they end, after a failover they begin again. */
  #onRestart(page: EventPage): EventPage {
    this.#systems.log.warn('The database was restarted, or another server took over: all event streams begin again')
    const followers = [...this.#followers]
    this.#followers.clear()
    for (const follower of followers) follower.onRestart(page.end)
    return page
  }

  async #pause(started: number): Promise<void> {
    const { clock } = this.#systems
    await this.#wakeUp.wait(this.#options.pollMs)
    const tooEarlyMs = shortestIntervalMs - (clock.monotonic() - started)
    if (this.#followers.size > 0 && tooEarlyMs > 0) await new Promise((resolve) => setTimeout(resolve, tooEarlyMs))
  }
}

/** Measures how long the log has not grown although events were committed. */
class EventLag {
  readonly #clock: Clock
  #waiting: { readonly position: number; readonly since: number } | undefined

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Takes the result of a read of the log. */
  observe({ isIncomplete, lastPosition: position }: LogState): void {
    if (!isIncomplete) this.#waiting = undefined
    else if (this.#waiting?.position !== position) this.#waiting = { position, since: this.#clock.monotonic() }
  }

  /** The lag in milliseconds; 0 when all events are visible. */
  ms(): number {
    return this.#waiting === undefined ? 0 : this.#clock.monotonic() - this.#waiting.since
  }
}
