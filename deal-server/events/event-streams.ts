/**
 * Live events: the streams of one process over its shared reader. Owns when events are read and which streams get them.
 * Does not know the table and the representation of events.
 */
import type { StreamBody } from '../../shared/platform/http/stream.ts'
import { UserLimits, type UserLimitsOptions } from '../../shared/platform/http/user-limits.ts'
import { ProblemError } from '../../shared/platform/problems/errors.ts'
import type { Sight } from '../domain/sight.ts'
import { EventReader } from './event-reader.ts'
import { EventStream, type StreamOptions } from './event-stream.ts'
import type { EventSystems } from './event-systems.ts'
import { findStart, isWantedBy, type StreamRequest } from './stream-request.ts'

/** Times, sizes and limits of event streams. */
export interface EventStreamsOptions extends StreamOptions, UserLimitsOptions {
  /** The interval of reads without a wake-up, in milliseconds. */
  readonly pollMs: number
}

/** The client of a stream. */
export interface StreamClient {
  /** The user's immutable id. */
  readonly principalId: string
  /**
   * Called before every read and send, and each second. The stream ends when it throws. @throws ProblemError,
   * Unavailable
   */
  mayRead(): Promise<Sight>
}

/** The event streams of one process. */
export type EventStreams = ReturnType<typeof createEventStreams>

const defaults: EventStreamsOptions = {
  heartbeatMs: 15_000,
  recheckMs: 1_000,
  stallMs: 30_000,
  maxWaitingBytes: 256 * 1024,
  pageSize: 100,
  pollMs: 1_000,
  maxOfUser: 16,
  maxInAll: 2_000,
}

/** Makes the event streams of one process. */
export function createEventStreams(systems: EventSystems, others: Partial<EventStreamsOptions> = {}) {
  const options = { ...defaults, ...others }
  const { eventLog } = systems
  const reader = new EventReader(systems, options)
  const limits = new UserLimits(options, tooMany)
  return {
    /**
     * Opens a stream. Returns undefined when no event has the position of the request. The stream counts as open until
     * its body ended, so the body must be run.
     * @throws ProblemError `too-many-streams`, `outdated-cursor`; Unavailable
     */
    open: async (request: StreamRequest, { principalId, mayRead }: StreamClient): Promise<StreamBody | undefined> => {
      const release = limits.acquire(principalId)
      const start = await findStart(eventLog, request).catch((error: unknown) => {
        release()
        throw error
      })
      if (!start) {
        release()
        return undefined
      }
      const opened = {
        start,
        dealId: request.dealId,
        isWanted: isWantedBy(request),
        isAbout: isWantedBy({ ...request, types: undefined }),
        mayRead,
      }
      return (body) => new EventStream(systems, options, { reader, opened, body }).run().finally(release)
    },
    /** True when such a stream could begin. @throws ProblemError `outdated-cursor`; Unavailable */
    canBegin: async (request: StreamRequest): Promise<boolean> => (await findStart(eventLog, request)) !== undefined,
    /** Wakes the reader: there may be new events. */
    wakeUp: () => reader.wakeUp(),
    /** For metrics: open streams, and how long committed events were not visible at the last read, in milliseconds. */
    health: () => ({ streams: limits.inAll, lagMs: reader.lag.ms() }),
    /** For readiness. @throws Unavailable when committed events cannot enter the log, or without the database */
    check: async (): Promise<void> => {
      reader.lag.observe(await eventLog.state())
    },
  }
}

/** A stream may end at any time. */
const tooMany = (own: number | undefined) =>
  new ProblemError(
    'too-many-streams',
    own === undefined
      ? 'The server has as many streams open as it may have.'
      : `You have ${own} streams open here; end one first.`,
    { retryAfterSeconds: 10 },
  )
