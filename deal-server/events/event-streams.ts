/**
 * Live events: the streams of one process over its shared reader. Owns when events are read and which streams get them.
 * Does not know the table and the representation of events.
 */
import type { Clock } from '../../shared/platform/clock.ts'
import type { StreamBody } from '../../shared/platform/http/stream.ts'
import type { Log } from '../../shared/platform/log/log.ts'
import { ProblemError, Unavailable } from '../../shared/platform/problems/errors.ts'
import { EventLag } from './event-lag.ts'
import type { EventLog, GivenPosition } from './event-log.ts'
import { EventReader } from './event-reader.ts'
import { EventStream, type StreamOptions } from './event-stream.ts'
import { partsFor } from './feed-position.ts'
import { StreamLimits, type StreamLimitsOptions } from './stream-limits.ts'
import type { OpenedPart, Visibility } from './stream-part.ts'
import { findStart, isWantedBy, type LogRequest, type StreamRequest, type StreamStart } from './stream-request.ts'
import { createStreamTexts, type Represent } from './stream-text.ts'

/** The parts that event streams use. */
export interface EventStreamsPorts {
  /** One for each shard. */
  readonly logs: readonly EventLog[]
  /** The number of the log that has the events of a deal; needed with several logs. */
  readonly logOf?: (dealId: string) => number
  readonly represent: Represent
  readonly clock: Clock
  readonly logger: Pick<Log, 'warn' | 'debug'>
  /** Counts a stream of this principal in another process; in this one when left out. As `StreamLimits.acquire`. */
  readonly acquire?: AcquireStream | undefined
  /** Reads for the streams that have caught up, in another process; in this one when left out. */
  readonly live?: readonly Pick<EventLog, 'read'>[] | undefined
}

/** Counts a stream of a principal. Resolves to the function that releases it. @throws ProblemError, Unavailable */
export type AcquireStream = (principalId: string) => Promise<() => void> | (() => void)

/** Times, sizes and limits of event streams. */
export interface EventStreamsOptions extends StreamOptions, StreamLimitsOptions {
  /** The interval of reads without a wake-up, in milliseconds. */
  readonly pollMs: number
}

/** The figures of event streams, for metrics. */
export interface EventsHealth {
  /** The number of open streams. */
  readonly streams: number
  /** How long committed events have not been visible, at the last read, in milliseconds. */
  readonly lagMs: number
}

/** The client of a stream. */
export interface StreamClient {
  /** The user's immutable id. */
  readonly principalId: string
  /**
   * Called before every read and send, and each second. The stream ends when it throws. @throws ProblemError,
   * Unavailable
   */
  mayRead(): Promise<Visibility>
}

/** The event streams of one process. */
export interface EventStreams {
  /**
   * Opens a stream. Returns undefined when no event has the position of the request. The stream counts as open until
   * its body ended, so the body must be run. A stream that goes on after a position opens also while some logs are
   * away: their events follow when they are back.
   * @throws ProblemError `too-many-streams`, `outdated-cursor`; PositionFault; Unavailable
   */
  open(request: StreamRequest, client: StreamClient): Promise<StreamBody | undefined>
  /** Counts a stream that another process opens. */
  readonly acquire: AcquireStream
  /** True when such a stream could begin. @throws ProblemError `outdated-cursor`; PositionFault; Unavailable */
  canBegin(request: StreamRequest): Promise<boolean>
  /** Wakes the readers of these logs, or of all: there may be new events. */
  wakeUp(logs?: readonly number[]): void
  health(): EventsHealth
  /**
   * The check for readiness.
   * @throws Unavailable when events are held back for long, or when no log can be read
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

/** The largest lag that readiness accepts, in milliseconds. */
const maxLagMs = 10_000

/** A page of a part of a stream has so many events at least. */
const smallestPage = 20

/** Makes the event streams of one process. */
export function createEventStreams(
  { logs, logOf = () => 0, represent, clock, logger, ...given }: EventStreamsPorts,
  others: Partial<EventStreamsOptions> = {},
): EventStreams {
  const options = { ...defaults, ...others }
  const texts = createStreamTexts(represent, logs.length)
  const sources = logs.map((log, index) => {
    const lag = new EventLag(clock)
    const live = given.live?.[index] ?? log
    const encode = texts.event
    return { log, lag, texts, logger, reader: new EventReader({ log, live, encode, clock, lag, logger }, options) }
  })
  const limits = new StreamLimits(options)
  const acquireHere: AcquireStream = (principalId) => limits.acquire(principalId)
  const { acquire = acquireHere } = given
  const wantedOf = (request: StreamRequest) => wantedParts(request, { sources, logOf })
  return {
    acquire: acquireHere,
    open: async (request, { principalId, mayRead }) => {
      const wanted = wantedOf(request)
      const release = await acquire(principalId)
      const starts = await findStarts(wanted).catch((error: unknown) => {
        release()
        throw error
      })
      if (!starts) return void release()
      const position = wanted.length > 1 ? starts.map(({ position: part }) => part) : undefined
      const pageSize = Math.min(options.pageSize, Math.max(smallestPage, Math.ceil(options.pageSize / wanted.length)))
      const parts = wanted.map(({ source, isWanted }, index) => {
        const { start } = starts[index] as FoundStart
        return { ports: source, opened: { start, dealId: request.dealId, isWanted, pageSize } }
      })
      const opened = { parts, position, mayRead }
      return (body) => new EventStream({ clock, logger }, options, { opened, body }).run().finally(release)
    },
    canBegin: async (request) => (await findStarts(wantedOf(request))) !== undefined,
    wakeUp: (woken) => {
      for (const [index, { reader }] of sources.entries()) if (woken?.includes(index) ?? true) reader.wakeUp()
    },
    health: () => ({ streams: limits.inAll, lagMs: Math.max(...sources.map(({ lag }) => lag.ms())) }),
    check: () => checkLogs(sources),
  }
}

/** A log with what belongs to it. */
interface Source {
  readonly log: EventLog
  readonly lag: EventLag
}

/** What a stream wants of one log. */
interface WantedPart<Of extends Source> extends LogRequest {
  readonly source: Of
}

/** What a stream wants of each log that it reads. @throws PositionFault */
function wantedParts<Of extends Source>(
  request: StreamRequest,
  { sources, logOf }: { readonly sources: readonly Of[]; readonly logOf: (dealId: string) => number },
): readonly WantedPart<Of>[] {
  const only = request.dealId === undefined ? undefined : logOf(request.dealId)
  const read = only === undefined ? sources : sources.slice(only, only + 1)
  const parts = request.after && partsFor(request.after, { count: sources.length, only })
  const isWanted = isWantedBy(request)
  return read.map((source, index) => ({ source, isWanted, after: parts?.[index] }))
}

/** The start in one log. Where the log is away, only the position is known. */
interface FoundStart {
  readonly start: OpenedPart['start']
  readonly position: GivenPosition
}

/** Finds the start in each log; undefined when one has no such event. @throws ProblemError; Unavailable */
async function findStarts(wanted: readonly WantedPart<Source>[]): Promise<readonly FoundStart[] | undefined> {
  const tried = await Promise.allSettled(wanted.map((part) => findStart(part.source.log, part)))
  const isAnyThere = tried.some(({ status }) => status === 'fulfilled')
  const starts = tried.map((result, index): FoundStart | undefined => {
    if (result.status === 'fulfilled') return result.value && { start: result.value, position: result.value.position }
    const part = wanted[index]
    const isAway = result.reason instanceof Unavailable
    if (!isAway || !isAnyThere || part?.after === undefined) throw result.reason
    return { start: () => findLater(part), position: part.after }
  })
  const found = starts.filter((start) => start !== undefined)
  return found.length === starts.length ? found : undefined
}

/** @throws ProblemError; Unavailable */
async function findLater(part: WantedPart<Source>): Promise<StreamStart> {
  const start = await findStart(part.source.log, part)
  if (start) return start
  throw new ProblemError('invalid-parameter', 'There is no event at this position.')
}

/** Logs that are away are no matter of this check, as long as one answers. @throws Unavailable */
async function checkLogs(sources: readonly Source[]): Promise<void> {
  const looks = await Promise.allSettled(sources.map(async ({ log, lag }) => lag.observe(await log.state())))
  const failures = looks.flatMap((look) => (look.status === 'rejected' ? [look.reason] : []))
  const unexpected = failures.find((error) => !(error instanceof Unavailable))
  if (unexpected !== undefined) throw unexpected
  if (failures.length === sources.length) throw failures[0]
  const isLate = sources.some(({ lag }, index) => looks[index]?.status === 'fulfilled' && lag.ms() > maxLagMs)
  if (isLate) throw new Unavailable('events')
}
