/**
 * What a stream gets from one log. It reads the log itself until it has caught up, then it follows the shared reader.
 * When the client is too slow, it reads the log itself again, at the client's pace, so that its memory stays bounded.
 */
import type { Log } from '../../shared/platform/log/log.ts'
import { Unavailable } from '../../shared/platform/problems/errors.ts'
import {
  beginning,
  type EventLog,
  type EventPage,
  isBefore,
  type LoggedEvent,
  type Place,
  type RunId,
  type TimelineId,
} from './event-log.ts'
import type { EncodedPage, EventReader, Follower } from './event-reader.ts'
import type { StreamStart } from './stream-request.ts'
import type { StreamText, StreamTexts } from './stream-text.ts'
import { Trail } from './trail.ts'

/** The parts that it uses. */
export interface StreamPartPorts {
  readonly log: EventLog
  readonly reader: EventReader
  readonly texts: StreamTexts
  readonly logger: Pick<Log, 'warn'>
}

/** What the stream wants of the log. */
export interface OpenedPart {
  /** Finds the start, if it is not known yet because the log was away. @throws ProblemError; Unavailable */
  readonly start: StreamStart | (() => Promise<StreamStart>)
  /** Set for a stream of one deal: reads of the log are limited to it. */
  readonly dealId: string | undefined
  /** True for an event that the client asked for. */
  isWanted(event: LoggedEvent): boolean
  /** The largest number of events in a page. */
  readonly pageSize: number
}

/** The part of the log that a caller may see. */
export interface Visibility {
  /** False: of the past events of a deleted deal, only the deletion is visible. New events are always visible. */
  readonly seesDeleted: boolean
}

/** The stream that this is a part of. */
export interface StreamOfParts {
  hasEnded(): boolean
  end(reason: string): void
  /** Aborted when the connection ends. */
  readonly ended: AbortSignal
  /** Resolves when the client has taken everything. */
  drained(): Promise<void>
  /** @throws ProblemError without the right; Unavailable when it cannot be checked */
  mayRead(): Promise<Visibility>
  /** True when more waits for the client than may wait. */
  isFull(): boolean
  /** Checks the right and writes, in one piece. @throws as `mayRead` */
  send(texts: readonly StreamText[]): Promise<void>
}

/** The events of a page that are to be sent. */
interface Batch {
  readonly texts: readonly StreamText[]
  readonly end: Place
}

/** How many events a stream remembers that it has read by itself. */
const maxOwnPlaces = 200
/** Pause before the next attempt to read the database, in milliseconds. */
const retryMs = 500
/** Pause of a stream that the shared reader cannot take over yet, in milliseconds. */
const shortPauseMs = 5

/** The part of one stream in one log. */
export class StreamPart implements Follower {
  readonly #ports: StreamPartPorts
  readonly #opened: OpenedPart
  readonly #stream: StreamOfParts
  /** All wanted events up to this place were sent. */
  #place: Place = beginning
  #includes: (event: LoggedEvent) => boolean
  /** The run of the database; known after the first read. */
  #runId: RunId | undefined
  /** The timeline of the place; known after the first read. */
  #timeline: TimelineId | undefined
  /** Another server took over: what was sent may not exist there. */
  #isOutdated = false
  /** What this stream has read by itself before it got the pages of the shared reader. */
  #trail: Trail | undefined
  #queue: Batch[] = []
  #waitingBytes = 0
  #isBehind = false
  #wake: () => void = () => undefined

  constructor(ports: StreamPartPorts, opened: OpenedPart, stream: StreamOfParts) {
    this.#ports = ports
    this.#opened = opened
    this.#stream = stream
    this.#includes = opened.isWanted
  }

  /** Bytes that wait to be sent. */
  get waitingBytes(): number {
    return this.#waitingBytes
  }

  /** Sends events until the stream ends. @throws ProblemError, Unavailable when it must end */
  async run(): Promise<void> {
    try {
      await this.#begin()
      while (!this.#stream.hasEnded()) {
        if (this.#isOutdated) await this.#reset()
        else {
          await this.#catchUp()
          await this.#follow()
        }
      }
    } finally {
      this.#ports.reader.leave(this)
    }
  }

  onPage(page: EncodedPage): void {
    if (this.#isBehind || this.#stream.hasEnded()) return
    const texts = page.events.flatMap(({ event, text }) => (this.#isWanted(event) ? [text] : []))
    this.#queue.push({ texts, end: page.end })
    this.#waitingBytes += lengthOf(texts)
    if (this.#stream.isFull()) this.#fallBehind()
    this.#wake()
  }

  onRestart(timeline: TimelineId): void {
    if (timeline === this.#timeline) this.#stream.end('The database was restarted.')
    else {
      this.#isOutdated = true
      this.#fallBehind()
      this.#wake()
    }
  }

  /** The stream has ended. */
  wake(): void {
    this.#wake()
  }

  #fallBehind(): void {
    this.#ports.reader.leave(this)
    this.#isBehind = true
    this.#queue = []
    this.#waitingBytes = 0
  }

  #isWanted(event: LoggedEvent): boolean {
    return isBefore(this.#place, event) && this.#includes(event)
  }

  async #begin(): Promise<void> {
    const { start } = this.#opened
    const found = typeof start === 'function' ? await this.#untilFound(start) : start
    if (!found) return
    this.#place = found.place
    this.#timeline = found.timeline
    this.#includes = found.includes
  }

  async #untilFound(find: () => Promise<StreamStart>): Promise<StreamStart | undefined> {
    while (!this.#stream.hasEnded()) {
      try {
        return await find()
      } catch (error) {
        if (!(error instanceof Unavailable)) throw error
        await pause(retryMs, this.#stream.ended)
      }
    }
    return undefined
  }

  /**
   * Tells the client that another server took over, and goes on after the last event that both logs have. What the
   * client got after it may not exist any more.
   */
  async #reset(): Promise<void> {
    const snapshot = await this.#read(() => this.#ports.log.takeSnapshot())
    if (!snapshot) return
    const { runId, timeline } = snapshot
    const found = await this.#read(async () => ({ common: await this.#findCommon(timeline) }))
    if (!found) return
    const { common } = found
    if (common === undefined) {
      return this.#stream.end(
        'Another database server took over, and has none of the events that this server remembers.',
      )
    }
    if (isBefore(common, this.#place)) this.#place = common
    this.#runId = runId
    this.#timeline = timeline
    this.#includes = this.#opened.isWanted
    this.#isOutdated = false
    await this.#stream.send([this.#ports.texts.reset({ position: this.#place.position, timeline })])
  }

  /** The last event that the log of this timeline shares with what was sent. @throws Unavailable */
  async #findCommon(timeline: TimelineId): Promise<Place | undefined> {
    if (!isBefore(beginning, this.#place)) return beginning
    let last: Place | undefined
    for (const read of [this.#trail, this.#ports.reader]) {
      const fork = await read?.forkTo(timeline)
      if (fork?.common === undefined || fork.from !== this.#timeline) continue
      if (last === undefined || isBefore(last, fork.common)) last = fork.common
    }
    return last
  }

  /** Reads and sends one page after another until the shared reader takes over. */
  async #catchUp(): Promise<void> {
    const { texts, log, reader } = this.#ports
    this.#isBehind = false
    const trail = new Trail(log, maxOwnPlaces)
    if (this.#timeline !== undefined) trail.add(this.#timeline, [this.#place])
    this.#trail = trail
    while (!this.#stream.hasEnded() && !this.#isOutdated) {
      await this.#stream.drained()
      const { seesDeleted } = await this.#stream.mayRead()
      const page = await this.#readPage({ hidesDeleted: !seesDeleted })
      if (!page || this.#stream.hasEnded()) continue
      const events = page.events.filter((event) => !event.isHidden && this.#isWanted(event))
      await this.#stream.send(events.map((event) => texts.event(event)))
      this.#place = page.end
      trail.add(page.timeline, page.events)
      if (!page.isLast) continue
      if (reader.join(this, page)) return
      await pause(shortPauseMs, this.#stream.ended)
    }
  }

  /** The next page; undefined when the log cannot be read now, or when the database was restarted. */
  async #readPage(options: { hidesDeleted: boolean }): Promise<EventPage | undefined> {
    const { pageSize: limit, dealId } = this.#opened
    const page = await this.#read(() => this.#ports.log.read(this.#place, { limit, dealId, ...options }))
    if (!page) return undefined
    this.#timeline ??= page.timeline
    if (page.timeline === this.#timeline) this.#runId ??= page.runId
    if (page.runId === this.#runId) return page
    this.onRestart(page.timeline)
    return undefined
  }

  /** What a read of the log finds; undefined, after a pause, when the log cannot be read now. */
  async #read<Found>(read: () => Promise<Found>): Promise<Found | undefined> {
    try {
      return await read()
    } catch (err) {
      if (!(err instanceof Unavailable)) this.#ports.logger.warn({ err }, 'The events could not be read')
      await pause(retryMs, this.#stream.ended)
      return undefined
    }
  }

  /** Sends the pages of the shared reader until the client falls behind. */
  async #follow(): Promise<void> {
    while (!this.#stream.hasEnded()) {
      const last = this.#queue.at(-1)
      if (last) {
        // All waiting events are sent together, after one check of the caller's right.
        const texts = this.#queue.flatMap((batch) => batch.texts)
        this.#queue = []
        this.#waitingBytes = 0
        await this.#stream.send(texts)
        if (isBefore(this.#place, last.end)) this.#place = last.end
      } else if (this.#isBehind) return
      else await this.#woken()
    }
  }

  #woken(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve
    })
  }
}

const lengthOf = (texts: readonly StreamText[]): number => texts.reduce((sum, { length }) => sum + length, 0)

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
