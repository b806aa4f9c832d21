/**
 * The one reader of the event log in a process: it reads what is new once, whatever the number of streams. It reads when wokenUp, now and
 * then, and soon again while events are held back by an older transaction. Without followers it does not read at all.
 */
import type { Clock } from '../../shared/platform/clock.ts'
import type { Log } from '../../shared/platform/log/log.ts'
import type { EventLag } from './event-lag.ts'
import { type EventLog, type EventPage, isBefore, type LoggedEvent, type Place } from './event-log.ts'

/** An event with its text on a stream. */
export interface EncodedEvent {
  readonly event: LoggedEvent
  readonly text: Uint8Array
}

/** A page of the log, its events encoded once for all streams. */
export interface EncodedPage {
  readonly events: readonly EncodedEvent[]
  readonly end: Place
}

export interface Follower {
  /** The next page; pages come in order and without gaps. */
  take(page: EncodedPage): void
  /** The database crashed, or is another one: whatever follows the log must begin anew. */
  lose(): void
}

export interface ReaderPorts {
  readonly log: EventLog
  readonly encode: (event: LoggedEvent) => Uint8Array
  readonly clock: Clock
  readonly lag: EventLag
  readonly logger: Pick<Log, 'warn'>
}

export interface ReaderOptions {
  /** How often to look without a wakeUp, in milliseconds. */
  readonly pollMs: number
  /** Events in a page. */
  readonly pageSize: number
}

/** WakeUps that come faster are answered by one look, in milliseconds. */
const shortestIntervalMs = 5
/** While events are held back, looks are this far apart at most, in milliseconds. */
const longestHeldBackMs = 250

export class EventReader {
  readonly #ports: ReaderPorts
  readonly #options: ReaderOptions
  readonly #followers = new Set<Follower>()
  /** The last event that was read and handed on: nothing but events moves it. Of no meaning while nobody follows, as what stands below. */
  #place: Place = { xid: 0, position: 0 }
  #runId = ''
  #isRunning = false
  #isWoken = false
  #heldBackLooks = 0
  #wake: () => void = () => undefined

  constructor(ports: ReaderPorts, options: ReaderOptions) {
    this.#ports = ports
    this.#options = options
  }

  /**
   * From now on hands every page to the follower, who has read up to the end of the log, with `page` as the last; may also hand it events
   * that it has read itself. False when the reader is ahead of the follower, who must read on alone.
   */
  join(follower: Follower, { end, horizon, runId }: EventPage): boolean {
    if (this.#followers.size === 0) {
      this.#place = { ...end }
      this.#runId = runId
    } else if (isBefore({ xid: horizon, position: 0 }, this.#place)) return false
    this.#followers.add(follower)
    if (!this.#isRunning) void this.#run()
    return true
  }

  leave(follower: Follower): void {
    this.#followers.delete(follower)
    if (this.#followers.size === 0) this.#wake()
  }

  /** There may be new events. */
  wakeUp(): void {
    this.#isWoken = true
    this.#wake()
  }

  async #run(): Promise<void> {
    this.#isRunning = true
    while (this.#followers.size > 0) {
      const started = this.#ports.clock.monotonic()
      const page = await this.#readPage()
      if (page && !page.isLast) continue
      await this.#pause(started, page)
    }
    this.#isRunning = false
  }

  /** Undefined when the log cannot be read at present. */
  async #readPage(): Promise<EventPage | undefined> {
    const { log, encode, lag, logger } = this.#ports
    const place = this.#place
    this.#isWoken = false
    try {
      const page = await log.read(place, { limit: this.#options.pageSize })
      // All have left meanwhile, and another one has joined elsewhere: read again, from there.
      if (place !== this.#place) return { ...page, isLast: false }
      lag.observe(page)
      if (page.runId !== this.#runId) return this.#lose(page)
      this.#place = page.end
      const encoded = { events: page.events.map((event) => ({ event, text: encode(event) })), end: page.end }
      for (const follower of [...this.#followers]) follower.take(encoded)
      return page
    } catch (err) {
      logger.warn({ err }, 'the events could not be read')
      return undefined
    }
  }

  /** After a crash, or when a standby took over that had not received everything, streams begin anew: clients say after which event. */
  #lose(page: EventPage): EventPage {
    this.#ports.logger.warn('the database was restarted or is another one: all event streams are ended')
    const followers = [...this.#followers]
    this.#followers.clear()
    for (const follower of followers) follower.lose()
    return page
  }

  async #pause(started: number, page: EventPage | undefined): Promise<void> {
    const { clock } = this.#ports
    this.#heldBackLooks = page?.heldBack === undefined ? 0 : this.#heldBackLooks + 1
    const ms =
      this.#heldBackLooks === 0
        ? this.#options.pollMs
        : Math.min(longestHeldBackMs, shortestIntervalMs * 2 ** (this.#heldBackLooks - 1), this.#options.pollMs)
    if (!this.#isWoken) await this.#sleep(ms)
    const tooEarlyMs = shortestIntervalMs - (clock.monotonic() - started)
    if (this.#followers.size > 0 && tooEarlyMs > 0) await new Promise((resolve) => setTimeout(resolve, tooEarlyMs))
  }

  /** Until wokenUp, at most. */
  #sleep(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms).unref()
      this.#wake = () => {
        clearTimeout(timer)
        this.#wake = () => undefined
        resolve()
      }
    })
  }
}
