/**
 * The stream of one client. It reads the log itself until it has caught up, then it follows the shared reader. When its
 * client is too slow, it reads the log itself again, at the client's pace, so that its memory stays bounded. The right
 * of the caller is checked before anything is sent.
 */
import { Signal } from '../../shared/platform/concurrency/signal.ts'
import type { BodyStream } from '../../shared/platform/http/stream.ts'
import { ProblemError, Unavailable } from '../../shared/platform/problems/errors.ts'
import type { Sight } from '../domain/sight.ts'
import { encodeEvent, encodeReset } from './encode-event.ts'
import type { EventPage, LoggedEvent, RunId } from './event-log.ts'
import type { EncodedEvent, EncodedPage, EventReader, Follower } from './event-reader.ts'
import type { EventSystems } from './event-systems.ts'
import { seenBy } from './own-events.ts'
import { beginning, isBefore, type Place } from './position.ts'
import { Trail } from './trail.ts'

/** Times and sizes of a stream; times in milliseconds. */
export interface StreamOptions {
  readonly heartbeatMs: number
  /** The interval at which the caller's right is checked again. */
  readonly recheckMs: number
  /** A client that reads nothing for this time is disconnected. */
  readonly stallMs: number
  /** The largest number of bytes that may wait for a client that follows the reader. */
  readonly maxWaitingBytes: number
  readonly pageSize: number
}

/** A stream that can begin: its start, its deal and its caller's rights. */
export interface OpenedStream {
  readonly start: Place
  /** Set for a stream of one deal: reads of the log are limited to it. */
  readonly dealId: string | undefined
  /** True for an event that the client asked for. */
  isWanted(event: LoggedEvent): boolean
  /** True for an event of a deal that the client asked for, of whatever type. */
  isAbout(event: LoggedEvent): boolean
  /** Checks the caller's right again. @throws ProblemError without the right; Unavailable when it cannot be checked */
  mayRead(): Promise<Sight>
}

/** How many events a stream remembers that it has read by itself. */
const maxOwnPlaces = 200
/** Pause before the next attempt to read the database, or to learn what the caller may read, in milliseconds. */
const retryMs = 500
/** Pause of a stream that the shared reader cannot take over yet, in milliseconds. */
const shortPauseMs = 5
/** The start of every stream: the time after which a client reconnects, in milliseconds. */
const preamble = 'retry: 1000\n\n'
const heartbeat = ':\n\n'

/** The stream of one client. */
export class EventStream implements Follower {
  readonly #systems: EventSystems
  readonly #options: StreamOptions
  readonly #reader: EventReader
  readonly #opened: OpenedStream
  readonly #body: BodyStream
  /** All wanted events up to this place were sent. */
  #place: Place
  /** The run of the database; known after the first read. */
  #runId: RunId | undefined
  /** Another server took over: what was sent may not exist there. */
  #isOutdated = false
  /** What this stream has read by itself before it got the pages of the shared reader. */
  #trail: Trail | undefined
  /** The events that are to be sent, if the caller may see them then. */
  #queue: EncodedPage[] = []
  #waitingBytes = 0
  #isBehind = false
  #isEnded = false
  readonly #change = new Signal()
  #lastWrite: number
  #blockedSince: number | undefined

  constructor(
    systems: EventSystems,
    options: StreamOptions,
    of: { reader: EventReader; opened: OpenedStream; body: BodyStream },
  ) {
    this.#systems = systems
    this.#options = options
    this.#reader = of.reader
    this.#opened = of.opened
    this.#body = of.body
    this.#place = of.opened.start
    this.#lastWrite = systems.clock.monotonic()
  }

  /** Sends events until the client goes, the right is removed or the server drains. */
  async run(): Promise<void> {
    const { ended } = this.#body
    const timer = setInterval(() => void this.#tick(), this.#options.recheckMs)
    const end = () => this.#end('The connection ended.')
    ended.addEventListener('abort', end)
    try {
      this.#write(preamble)
      while (!this.#hasEnded()) {
        if (this.#isOutdated) await this.#reset()
        else {
          await this.#catchUp()
          await this.#follow()
        }
      }
    } catch (error) {
      if (!(error instanceof ProblemError)) throw error
      this.#end(error.code)
    } finally {
      clearInterval(timer)
      ended.removeEventListener('abort', end)
      this.#reader.leave(this)
    }
  }

  onPage(page: EncodedPage): void {
    if (this.#isBehind || this.#isEnded) return
    const events = page.events.filter(({ event }) => this.#mayMatter(event))
    this.#queue.push({ events, end: page.end })
    this.#waitingBytes += lengthOf(events)
    if (this.#waitingBytes + this.#body.waitingBytes() > this.#options.maxWaitingBytes) this.#fallBehind()
    this.#change.raise()
  }

  onRestart({ history }: Place): void {
    if (history === this.#place.history) this.#end('The database was restarted.')
    else {
      this.#isOutdated = true
      this.#fallBehind()
      this.#change.raise()
    }
  }

  #hasEnded(): boolean {
    return this.#isEnded || this.#body.ended.aborted
  }

  #end(reason: string): void {
    if (!this.#isEnded) this.#systems.log.debug({ reason }, 'An event stream ends')
    this.#isEnded = true
    this.#change.raise()
  }

  #fallBehind(): void {
    this.#reader.leave(this)
    this.#isBehind = true
    this.#queue = []
    this.#waitingBytes = 0
  }

  /** True for an event that is wanted, and for one that may say that a deal was given away. */
  #mayMatter(event: LoggedEvent): boolean {
    const { isAbout, isWanted } = this.#opened
    const isChangeOfOwner = event.type === 'deal.owner-assigned' && isAbout(event)
    return isBefore(this.#place, event) && (isWanted(event) || isChangeOfOwner)
  }

  /** The text of an event for this caller; none for one that the caller does not see, or does not want. */
  #textsOf({ event, text }: EncodedEvent, sight: Sight): readonly Uint8Array[] {
    const seen = seenBy(sight, event)
    if (seen === undefined) return []
    if (seen !== event) return [encodeEvent(seen, this.#systems.represent(seen))]
    return this.#opened.isWanted(event) ? [text] : []
  }

  /**
   * Tells the client that another server took over, and goes on after the last event that both logs have. What the
   * client got after it may not exist any more.
   */
  async #reset(): Promise<void> {
    const snapshot = await this.#read(() => this.#systems.eventLog.takeSnapshot())
    if (!snapshot) return
    const { runId, last } = snapshot
    const found = await this.#read(async () => ({ common: await this.#findCommon(last) }))
    if (!found) return
    const { common } = found
    if (common === undefined) {
      return this.#end('Another database server took over, and has none of the events that this server remembers.')
    }
    const place = isBefore(common, this.#place) ? common : this.#place
    this.#place = { ...place, history: last.history }
    this.#runId = runId
    this.#isOutdated = false
    await this.#sightNow()
    if (!this.#hasEnded()) this.#write(encodeReset(this.#place))
  }

  /** The last event that the log of this history shares with what was sent. @throws Unavailable */
  async #findCommon({ history }: Place): Promise<Place | undefined> {
    if (!isBefore(beginning, this.#place)) return beginning
    let last: Place | undefined
    for (const read of [this.#trail, this.#reader]) {
      const fork = await read?.forkTo(history)
      if (fork?.common === undefined || fork.from !== this.#place.history) continue
      if (last === undefined || isBefore(last, fork.common)) last = fork.common
    }
    return last
  }

  /** Reads and sends one page after another until the shared reader takes over. */
  async #catchUp(): Promise<void> {
    const { eventLog, represent } = this.#systems
    this.#isBehind = false
    const trail = new Trail(eventLog, maxOwnPlaces)
    if (this.#place.history !== undefined) trail.add([this.#place])
    this.#trail = trail
    while (!this.#hasEnded() && !this.#isOutdated) {
      await this.#body.drained()
      const sight = await this.#sightNow()
      const page = sight && (await this.#readPage({ hidesDeleted: sight.deleted !== 'all' }))
      if (!page || this.#hasEnded()) continue
      const events = page.events.filter((event) => this.#mayMatter(event))
      await this.#send(events.map((event) => ({ event, text: encodeEvent(event, represent(event)) })))
      this.#place = page.end
      trail.add(page.events)
      if (!page.isLast) continue
      if (this.#reader.join(this, page)) return
      await pause(shortPauseMs, this.#body.ended)
    }
  }

  /**
   * What the caller may see now. Waits while nobody can tell, as after a failover that the auth servers have not yet
   * noticed; undefined when the stream has ended by then. @throws ProblemError without the right
   */
  async #sightNow(): Promise<Sight | undefined> {
    while (!this.#hasEnded()) {
      try {
        return await this.#opened.mayRead()
      } catch (error) {
        if (!(error instanceof Unavailable)) throw error
        await pause(retryMs, this.#body.ended)
      }
    }
    return undefined
  }

  /** The next page; undefined when the log cannot be read now, or when the database was restarted. */
  async #readPage(options: { hidesDeleted: boolean }): Promise<EventPage | undefined> {
    const { pageSize: limit } = this.#options
    const page = await this.#read(() =>
      this.#systems.eventLog.read(this.#place, { limit, dealId: this.#opened.dealId, ...options }),
    )
    if (!page) return undefined
    const { history = page.end.history } = this.#place
    if (page.end.history === history) this.#runId ??= page.runId
    if (page.runId === this.#runId) return page
    this.onRestart(page.end)
    return undefined
  }

  /** What a read of the log finds; undefined, after a pause, when the log cannot be read now. */
  async #read<Found>(read: () => Promise<Found>): Promise<Found | undefined> {
    try {
      return await read()
    } catch (err) {
      if (!(err instanceof Unavailable)) this.#systems.log.warn({ err }, 'The events could not be read')
      await pause(retryMs, this.#body.ended)
      return undefined
    }
  }

  /** Sends the pages of the shared reader until the client falls behind. */
  async #follow(): Promise<void> {
    while (!this.#hasEnded()) {
      const last = this.#queue.at(-1)
      if (last) {
        // All waiting events are sent together, after one check of the caller's right.
        const events = this.#queue.flatMap((batch) => batch.events)
        this.#queue = []
        this.#waitingBytes = 0
        await this.#send(events)
        if (isBefore(this.#place, last.end)) this.#place = last.end
      } else if (this.#isBehind) return
      else await this.#change.wait()
    }
  }

  /** Sends the events that the caller may see now. */
  async #send(events: readonly EncodedEvent[]): Promise<void> {
    if (events.length === 0) return
    const sight = await this.#sightNow()
    const texts = sight ? events.flatMap((event) => this.#textsOf(event, sight)) : []
    const [first] = texts
    if (first && !this.#hasEnded()) this.#write(texts.length === 1 ? first : Buffer.concat(texts))
  }

  #write(piece: string | Uint8Array): void {
    const now = this.#systems.clock.monotonic()
    this.#lastWrite = now
    if (this.#body.write(piece)) this.#blockedSince = undefined
    else if (this.#blockedSince === undefined) {
      this.#blockedSince = now
      void this.#body.drained().then(() => {
        this.#blockedSince = undefined
      })
    }
  }

  /** Runs at an interval: ends a stream without the right, disconnects a stalled client, and sends heartbeats. */
  async #tick(): Promise<void> {
    const { heartbeatMs, stallMs } = this.#options
    try {
      await this.#opened.mayRead()
    } catch (error) {
      const reason = error instanceof ProblemError ? error.code : 'The right of the caller cannot be checked.'
      if (!(error instanceof Unavailable)) return this.#end(reason)
    }
    if (this.#hasEnded()) return
    const now = this.#systems.clock.monotonic()
    if (this.#blockedSince !== undefined) {
      if (now - this.#blockedSince >= stallMs) this.#body.cut()
    } else if (now - this.#lastWrite >= heartbeatMs) this.#write(heartbeat)
  }
}

const lengthOf = (events: readonly EncodedEvent[]): number => events.reduce((sum, { text }) => sum + text.length, 0)

/** Waits; returns early when `ended` is aborted. */
const pause = (ms: number, ended: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer)
      ended.removeEventListener('abort', end)
      resolve()
    }
    const timer = setTimeout(end, ms)
    ended.addEventListener('abort', end)
  })
