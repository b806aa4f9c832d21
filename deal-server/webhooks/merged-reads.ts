/**
 * Reads the events of all logs for webhooks. There is one log for each shard. A log that is away does not hold the
 * others up. A webhook has a place of its own in each log, so it misses nothing of a log that is back.
 */
import { timelineMark } from '../../shared/platform/database/timeline.ts'
import { Unavailable } from '../../shared/platform/problems/errors.ts'
import {
  beginning,
  type EventLog,
  type EventPage,
  type LoggedEvent,
  type MarkedPlace,
  type ReadOptions,
  type RunId,
} from '../events/event-log.ts'

/** A place for each log; undefined where it could not be found because the log was away. */
export type FeedPlaces = readonly (MarkedPlace | undefined)[]

/** A page of all logs. */
export interface FeedPage extends Pick<EventPage, 'isLast' | 'isHeldBack'> {
  readonly events: readonly LoggedEvent[]
  /** The places behind the page. */
  readonly ends: FeedPlaces
  /** The run of each database; undefined for one that is away. */
  readonly runIds: readonly (RunId | undefined)[]
}

/** Reads pages of all logs. */
export interface FeedReads {
  /** The visible events after these places. @throws Unavailable when no log can be read */
  read(places: FeedPlaces, options: ReadOptions): Promise<FeedPage>
}

/** A page has so many events of each log at least. */
const smallestPart = 20

/** Reads these logs, one for each shard. */
export function createMergedReads(logs: readonly Pick<EventLog, 'read'>[]): FeedReads {
  const patient = logs.length === 1 ? logs : logs.map(withoutWaiting)
  return {
    read: async (places, { limit, ...options }) => {
      const most = Math.min(limit, Math.max(smallestPart, Math.ceil(limit / logs.length)))
      const tried = await Promise.allSettled(
        patient.map((log, index) => {
          const place = places[index]
          return log.read(place ?? beginning, { ...options, limit: place ? most : 1 })
        }),
      )
      const failures = tried.flatMap((result) => (result.status === 'rejected' ? [result.reason] : []))
      const unexpected = failures.find((error) => !(error instanceof Unavailable))
      if (unexpected !== undefined || failures.length === logs.length) throw unexpected ?? failures[0]
      return pageOf(
        tried.map((result) => (result.status === 'fulfilled' ? result.value : undefined)),
        places,
      )
    },
  }
}

/** `pages`: undefined for logs that are away. */
function pageOf(pages: readonly (EventPage | undefined)[], places: FeedPlaces): FeedPage {
  const read = pages.map((page, index) => (places[index] === undefined ? undefined : page))
  const present = read.filter((page) => page !== undefined)
  return {
    events: present.flatMap(({ events }) => events),
    ends: read.map((page, index) => (page ? endOf(page) : places[index])),
    runIds: pages.map((page) => page?.runId),
    isLast: present.every(({ isLast }) => isLast),
    isHeldBack: present.some(({ isHeldBack }) => isHeldBack),
  }
}

const endOf = ({ end, timeline }: EventPage): MarkedPlace => ({ ...end, mark: timelineMark(timeline) })

/** The same log. After a failure it is tried again beside the reads, which fail at once until it answers. */
function withoutWaiting(log: Pick<EventLog, 'read'>): Pick<EventLog, 'read'> {
  let failure: Unavailable | undefined
  let isTrying = false
  const tryAgain = async () => {
    isTrying = true
    await log.read(beginning, { limit: 1 }).then(
      () => {
        failure = undefined
      },
      () => undefined,
    )
    isTrying = false
  }
  return {
    read: async (after, options) => {
      if (failure) {
        if (!isTrying) void tryAgain()
        throw failure
      }
      try {
        return await log.read(after, options)
      } catch (error) {
        if (error instanceof Unavailable) failure = error
        throw error
      }
    },
  }
}
