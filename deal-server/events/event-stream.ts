/**
 * The stream of one client. It has a part for each log that it reads, and writes what they send. The right of the
 * caller is checked before anything is sent. With several logs it keeps the client's position in each of them, because
 * every event is written with all.
 */
import type { Clock } from '../../shared/platform/clock.ts'
import type { BodyStream } from '../../shared/platform/http/stream.ts'
import type { Log } from '../../shared/platform/log/log.ts'
import { ProblemError, Unavailable } from '../../shared/platform/problems/errors.ts'
import type { GivenPosition } from './event-log.ts'
import { FeedPosition } from './feed-position.ts'
import { type OpenedPart, StreamPart, type StreamPartPorts, type Visibility } from './stream-part.ts'
import type { StreamText } from './stream-text.ts'

/** The parts that a stream uses. */
export interface StreamPorts {
  readonly clock: Clock
  readonly logger: Pick<Log, 'warn' | 'debug'>
}

/** Times and sizes of a stream; times in milliseconds. */
export interface StreamOptions {
  readonly heartbeatMs: number
  /** The interval at which the caller's right is checked again. */
  readonly recheckMs: number
  /** A client that reads nothing for this time is disconnected. */
  readonly stallMs: number
  /** The largest number of bytes that may wait for a client that follows the readers. */
  readonly maxWaitingBytes: number
  /** The largest number of events in a page. */
  readonly pageSize: number
}

/** A stream that can begin: its parts and its caller's rights. */
export interface OpenedStream {
  readonly parts: readonly { readonly ports: StreamPartPorts; readonly opened: OpenedPart }[]
  /** The client's position, one part for each log; undefined where events have positions of their own. */
  readonly position: readonly GivenPosition[] | undefined
  /** Checks the caller's right again. @throws ProblemError without the right; Unavailable when it cannot be checked */
  mayRead(): Promise<Visibility>
}

/** The begin of every stream: the time after which a client reconnects, in milliseconds. */
const preamble = 'retry: 1000\n\n'
const heartbeat = ':\n\n'

/** The stream of one client. */
export class EventStream {
  readonly #ports: StreamPorts
  readonly #options: StreamOptions
  readonly #opened: OpenedStream
  readonly #body: BodyStream
  readonly #parts: readonly StreamPart[]
  readonly #position: FeedPosition | undefined
  #isEnded = false
  #lastWrite: number
  #blockedSince: number | undefined

  constructor(ports: StreamPorts, options: StreamOptions, of: { opened: OpenedStream; body: BodyStream }) {
    this.#ports = ports
    this.#options = options
    this.#opened = of.opened
    this.#body = of.body
    this.#position = of.opened.position && new FeedPosition(of.opened.position)
    this.#parts = of.opened.parts.map((part, log) => this.#makePart(part, log))
    this.#lastWrite = ports.clock.monotonic()
  }

  #makePart({ ports, opened }: OpenedStream['parts'][number], log: number): StreamPart {
    return new StreamPart(ports, opened, {
      ended: this.#body.ended,
      hasEnded: () => this.#hasEnded(),
      end: (reason) => this.#end(reason),
      drained: () => this.#body.drained(),
      mayRead: () => this.#opened.mayRead(),
      isFull: () => this.#isFull(),
      send: (texts) => this.#send(log, texts),
    })
  }

  /** Sends events until the client goes, the right is removed or the server drains. */
  async run(): Promise<void> {
    const { ended } = this.#body
    const timer = setInterval(() => void this.#tick(), this.#options.recheckMs)
    const end = () => this.#end('The connection ended.')
    ended.addEventListener('abort', end)
    try {
      this.#write(preamble)
      await Promise.all(this.#parts.map((part) => part.run().catch((error: unknown) => this.#endFor(error))))
    } finally {
      clearInterval(timer)
      ended.removeEventListener('abort', end)
    }
  }

  #hasEnded(): boolean {
    return this.#isEnded || this.#body.ended.aborted
  }

  #end(reason: string): void {
    if (!this.#isEnded) this.#ports.logger.debug({ reason }, 'An event stream ends')
    this.#isEnded = true
    for (const part of this.#parts) part.wake()
  }

  /** Ends the stream for a refusal or an outage. @throws every other error */
  #endFor(error: unknown): void {
    const isExpected = error instanceof ProblemError || error instanceof Unavailable
    const reason = error instanceof ProblemError ? error.code : error instanceof Unavailable ? error.message : 'error'
    this.#end(reason)
    if (!isExpected) throw error
  }

  #isFull(): boolean {
    const waiting = this.#parts.reduce((sum, { waitingBytes }) => sum + waitingBytes, this.#body.waitingBytes())
    return waiting > this.#options.maxWaitingBytes
  }

  async #send(log: number, texts: readonly StreamText[]): Promise<void> {
    if (texts.length === 0) return
    await this.#opened.mayRead()
    if (this.#hasEnded()) return
    const pieces = texts.map((text) => {
      this.#position?.set(log, text.position)
      return text.at(this.#position)
    })
    const [first] = pieces
    if (first) this.#write(pieces.length === 1 ? first : Buffer.concat(pieces))
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

  /** Runs at an interval: ends a stream without the right, disconnects a stalled client, and sends heartbeats. */
  async #tick(): Promise<void> {
    const { heartbeatMs, stallMs } = this.#options
    try {
      await this.#opened.mayRead()
    } catch (error) {
      return this.#end(error instanceof ProblemError ? error.code : 'The right of the caller cannot be checked.')
    }
    if (this.#hasEnded()) return
    const now = this.#ports.clock.monotonic()
    if (this.#blockedSince !== undefined) {
      if (now - this.#blockedSince >= stallMs) this.#body.cut()
    } else if (now - this.#lastWrite >= heartbeatMs) this.#write(heartbeat)
  }
}
