/**
 * Live events: the streams of one process over its one reader. Owns when events are read and who is told; knows neither the table
 * nor how an event is represented.
 */
import type { Clock } from '../../shared/platform/clock.ts'
import type { StreamBody } from '../../shared/platform/http/stream.ts'
import type { Log } from '../../shared/platform/log/log.ts'
import { Unavailable } from '../../shared/platform/problems/errors.ts'
import { EventLag } from './event-lag.ts'
import type { EventLog, LoggedEvent } from './event-log.ts'
import { EventReader } from './event-reader.ts'
import { EventStream, type Sight, type StreamOptions } from './event-stream.ts'
import { StreamLimits, type StreamLimitsOptions } from './stream-limits.ts'
import { findStart, type StreamRequest } from './stream-request.ts'

export interface EventStreamsPorts {
  readonly log: EventLog
  /** The envelope of an event. */
  readonly represent: (event: LoggedEvent) => object
  readonly clock: Clock
  readonly logger: Pick<Log, 'warn' | 'debug'>
}

export interface EventStreamsOptions extends StreamOptions, StreamLimitsOptions {
  /** How often to look for events without being wokenUp, in milliseconds. */
  readonly pollMs: number
}

export interface EventsHealth {
  /** Streams that are open. */
  readonly streams: number
  /** For how long committed events have been held back by an older transaction, as of the last look, in milliseconds. */
  readonly lagMs: number
}

/** Who follows. */
export interface StreamClient {
  /** The user's immutable id. */
  readonly principalId: string
  /** Asked before anything is read or sent, and each second; when it throws, the stream ends. @throws ProblemError, Unavailable */
  mayRead(): Promise<Sight>
}

export interface EventStreams {
  /**
   * The body of a stream; undefined when there is no event at the position that it is to continue after. It counts as open until it
   * has run, so it must be run.
   * @throws ProblemError `too-many-streams`, Unavailable
   */
  open(request: StreamRequest, client: StreamClient): Promise<StreamBody | undefined>
  /** Whether such a stream could begin. @throws Unavailable */
  canBegin(request: StreamRequest): Promise<boolean>
  /** There may be new events. */
  wakeUp(): void
  health(): EventsHealth
  /**
   * For readiness.
   * @throws Unavailable when events are held back for long, when the table comes from another cluster, or without the database
   */
  check(): Promise<void>
}

const defaults: EventStreamsOptions = {
  heartbeatMs: 15_000,
  recheckMs: 1_000,
  stallMs: 30_000,
  maxWaitingBytes: 256 * 1024,
  pageSize: 100,
  pollMs: 1_000,
  maxOfPrincipal: 16,
  maxInAll: 2_000,
}

/** Readiness complains of a lag beyond this, in milliseconds. */
const maxLagMs = 10_000

/** The streams of one process. */
export function createEventStreams(
  { log, represent, clock, logger }: EventStreamsPorts,
  given: Partial<EventStreamsOptions> = {},
): EventStreams {
  const options = { ...defaults, ...given }
  const lag = new EventLag(clock)
  const encode = (event: LoggedEvent) => encodeEvent(event, represent(event))
  const reader = new EventReader({ log, encode, clock, lag, logger }, options)
  const limits = new StreamLimits(options)
  return {
    open: async (request, { principalId, mayRead }) => {
      const release = limits.take(principalId)
      const start = await findStart(log, request).catch((error: unknown) => {
        release()
        throw error
      })
      if (!start) return void release()
      const opened = { start, dealId: request.dealId, mayRead }
      const ports = { log, reader, encode, clock, logger }
      return (body) => new EventStream(ports, options, { opened, body }).run().finally(release)
    },
    canBegin: async (request) => (await findStart(log, request)) !== undefined,
    wakeUp: () => reader.wakeUp(),
    health: () => ({ streams: limits.inAll, lagMs: lag.ms() }),
    check: async () => {
      const state = await log.state()
      lag.observe(state)
      if (state.isRestored) throw new Unavailable('events')
      if (lag.ms() > maxLagMs) throw new Unavailable('events')
    },
  }
}

/** WHATWG HTML §9.2.6. JSON text has no line breaks, so the envelope is one `data` line. */
const encodeEvent = ({ position, type }: LoggedEvent, envelope: object): Uint8Array =>
  Buffer.from(`id: ${position}\nevent: ${type}\ndata: ${JSON.stringify(envelope)}\n\n`)
