/**
 * One client's stream: it reads the log itself until it has caught up with the shared reader, then follows that one; a client that falls
 * behind goes back to reading at its own pace, so what waits for it stays bounded. Its caller's right is looked at before
 * anything is sent.
 */
import type { Clock } from '../../shared/platform/clock.ts'
import type { BodyStream } from '../../shared/platform/http/stream.ts'
import type { Log } from '../../shared/platform/log/log.ts'
import { ProblemError, Unavailable } from '../../shared/platform/problems/errors.ts'
import { type EventLog, type EventPage, isBefore, type LoggedEvent, type Place, type RunId } from './event-log.ts'
import type { EncodedPage, EventReader, Follower } from './event-reader.ts'
import type { StreamStart } from './stream-request.ts'

export interface StreamPorts {
  readonly log: EventLog
  readonly reader: EventReader
  readonly encode: (event: LoggedEvent) => Uint8Array
  readonly clock: Clock
  readonly logger: Pick<Log, 'warn' | 'debug'>
}

/** Times in milliseconds. */
export interface StreamOptions {
  readonly heartbeatMs: number
  /** How often an idle stream's caller is looked at. */
  readonly recheckMs: number
  /** A client that takes nothing for so long is cut off. */
  readonly stallMs: number
  /** So much may wait for a client that follows. */
  readonly maxWaitingBytes: number
  readonly pageSize: number
}

/** What of the log a caller may see. */
export interface Sight {
  /** False: of a deal that is deleted by the time of the reading nothing but the deletion. What happens is told as it happens. */
  readonly seesDeleted: boolean
}

export interface OpenedStream {
  readonly start: StreamStart
  /** Reads of the log are narrowed to it while catching up. */
  readonly dealId: string | undefined
  /** What the caller may see by now. @throws ProblemError, Unavailable when that is nothing any more, or nobody can tell */
  mayRead(): Promise<Sight>
}

/** What is to be sent of a page. */
interface Batch {
  readonly texts: readonly Uint8Array[]
  readonly end: Place
}

/** Before it tries the database again, in milliseconds. */
const retryMs = 500
/** What a client waits before it comes back, in milliseconds; the first thing on every stream. */
const preamble = 'retry: 1000\n\n'
const heartbeat = ':\n\n'

export class EventStream implements Follower {
  readonly #ports: StreamPorts
  readonly #options: StreamOptions
  readonly #opened: OpenedStream
  readonly #body: BodyStream
  /** All that is wanted up to this event has been sent. */
  #place: Place
  /** Known from the first look on. */
  #runId: RunId | undefined
  #queue: Batch[] = []
  #waitingBytes = 0
  #isBehind = false
  #isOver = false
  #wake: () => void = () => undefined
  #lastWrite: number
  #blockedSince: number | undefined

  constructor(ports: StreamPorts, options: StreamOptions, of: { opened: OpenedStream; body: BodyStream }) {
    this.#ports = ports
    this.#options = options
    this.#opened = of.opened
    this.#body = of.body
    this.#place = of.opened.start.place
    this.#runId = of.opened.start.runId
    this.#lastWrite = ports.clock.monotonic()
  }

  /** Writes until the client goes, the right is gone or the server drains. */
  async run(): Promise<void> {
    const { ended } = this.#body
    const timer = setInterval(() => void this.#tick(), this.#options.recheckMs)
    const end = () => this.#end('the connection ended')
    ended.addEventListener('abort', end)
    try {
      this.#write(preamble)
      while (!this.#hasEnded()) {
        await this.#catchUp()
        await this.#follow()
      }
    } catch (error) {
      this.#endFor(error)
    } finally {
      clearInterval(timer)
      ended.removeEventListener('abort', end)
      this.#ports.reader.leave(this)
    }
  }

  take(page: EncodedPage): void {
    if (this.#isBehind || this.#isOver) return
    const texts = page.events.filter(({ event }) => this.#isWanted(event)).map(({ text }) => text)
    this.#queue.push({ texts, end: page.end })
    this.#waitingBytes += lengthOf(texts)
    if (this.#waitingBytes + this.#body.waitingBytes() > this.#options.maxWaitingBytes) this.#fallBehind()
    this.#wake()
  }

  lose(): void {
    this.#end('the database was restarted or is another one')
  }

  #hasEnded(): boolean {
    return this.#isOver || this.#body.ended.aborted
  }

  #end(reason: string): void {
    if (!this.#isOver) this.#ports.logger.debug({ reason }, 'an event stream ends')
    this.#isOver = true
    this.#wake()
  }

  /** @throws what is no reason to end a stream in order */
  #endFor(error: unknown): void {
    if (!(error instanceof ProblemError || error instanceof Unavailable)) throw error
    this.#end(error instanceof ProblemError ? error.code : error.message)
  }

  #fallBehind(): void {
    this.#ports.reader.leave(this)
    this.#isBehind = true
    this.#queue = []
    this.#waitingBytes = 0
  }

  #isWanted(event: LoggedEvent): boolean {
    return isBefore(this.#place, event) && this.#opened.start.includes(event)
  }

  /** Reads and sends pages, each when the one before has gone out, until the shared reader takes over. */
  async #catchUp(): Promise<void> {
    const { encode, reader } = this.#ports
    this.#isBehind = false
    while (!this.#hasEnded()) {
      await this.#body.drained()
      const { seesDeleted } = await this.#opened.mayRead()
      const page = await this.#readPage({ hidesDeleted: !seesDeleted })
      if (!page || this.#hasEnded()) continue
      const events = page.events.filter((event) => !event.isHidden && this.#isWanted(event))
      await this.#send(events.map(encode))
      this.#place = page.end
      if (page.isLast && reader.join(this, page)) return
    }
  }

  /** Undefined when the log cannot be read at present, or not on from here. */
  async #readPage(options: { hidesDeleted: boolean }): Promise<EventPage | undefined> {
    const { log, logger } = this.#ports
    const { pageSize: limit } = this.#options
    try {
      const page = await log.read(this.#place, { limit, dealId: this.#opened.dealId, ...options })
      this.#runId ??= page.runId
      if (page.runId === this.#runId) return page
      this.lose()
      return undefined
    } catch (err) {
      if (!(err instanceof Unavailable)) logger.warn({ err }, 'the events could not be read')
      await pause(retryMs, this.#body.ended)
      return undefined
    }
  }

  /** Sends what the shared reader hands on, until the client falls behind. */
  async #follow(): Promise<void> {
    while (!this.#hasEnded()) {
      const last = this.#queue.at(-1)
      if (last) {
        // All that waits goes out together: one look at the caller's right, however long it takes.
        const texts = this.#queue.flatMap((batch) => batch.texts)
        this.#queue = []
        this.#waitingBytes = 0
        await this.#send(texts)
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

  async #send(texts: readonly Uint8Array[]): Promise<void> {
    const [first] = texts
    if (first === undefined) return
    await this.#opened.mayRead()
    if (!this.#hasEnded()) this.#write(texts.length === 1 ? first : Buffer.concat(texts))
  }

  #write(piece: string | Uint8Array): void {
    const now = this.#ports.clock.monotonic()
    this.#lastWrite = now
    if (this.#body.write(piece)) this.#blockedSince = undefined
    else if (this.#blockedSince === undefined) {
      this.#blockedSince = now
      void this.#body.drained().then(() => {
        this.#blockedSince = undefined
      })
    }
  }

  /** Now and then: ends the stream of a caller who may no longer read, cuts off who does not read, and shows the others that it lives. */
  async #tick(): Promise<void> {
    const { heartbeatMs, stallMs } = this.#options
    try {
      await this.#opened.mayRead()
    } catch (error) {
      return this.#end(error instanceof ProblemError ? error.code : 'nobody can tell whether the caller may read')
    }
    if (this.#hasEnded()) return
    const now = this.#ports.clock.monotonic()
    if (this.#blockedSince !== undefined) {
      if (now - this.#blockedSince >= stallMs) this.#body.cut()
    } else if (now - this.#lastWrite >= heartbeatMs) this.#write(heartbeat)
  }
}

const lengthOf = (texts: readonly Uint8Array[]): number => texts.reduce((sum, { length }) => sum + length, 0)

/** Ends early when `ended` is aborted. */
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
