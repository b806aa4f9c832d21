/** How far the worker of one webhook is in each log. */
import { timelineMark } from '../../shared/platform/database/timeline.ts'
import { Unavailable } from '../../shared/platform/problems/errors.ts'
import {
  beginning,
  type LoggedEvent,
  type MarkedPlace,
  type Place,
  type ReadOptions,
  type RunId,
} from '../events/event-log.ts'
import { positionText } from '../events/feed-position.ts'
import type { FeedPage, FeedPlaces, FeedReads } from './merged-reads.ts'

/** The parts that it uses. */
export interface WorkerPlacesPorts {
  readonly feed: FeedReads
  /** The number of the log that has the events of a deal. */
  readonly logOf: (dealId: string) => number
}

/** The places of one worker. */
export class WorkerPlaces {
  readonly #ports: WorkerPlacesPorts
  /** Everything up to here was read. */
  #read: FeedPlaces
  /** The end of the page that is being sent, or of the last one. */
  #taken: FeedPlaces
  #runIds: readonly (RunId | undefined)[] = []

  constructor(ports: WorkerPlacesPorts, loaded: FeedPlaces) {
    this.#ports = ports
    this.#read = loaded
    this.#taken = loaded
  }

  /**
   * The next page. Undefined when the webhook must be loaded again: a database was restarted, another one took over, or
   * one is back that was away when the webhook was loaded. @throws Unavailable when no log can be read
   */
  async next(options: ReadOptions): Promise<FeedPage | undefined> {
    const page = await this.#ports.feed.read(this.#read, options)
    const before = this.#runIds
    this.#runIds = page.runIds.map((runId, log) => before[log] ?? runId)
    const isKnown = page.runIds.every(
      (runId, log) => runId === undefined || (runId === this.#runIds[log] && this.#read[log] !== undefined),
    )
    return isKnown ? page : undefined
  }

  /** The page is being sent. */
  take({ ends }: FeedPage): void {
    this.#taken = ends
  }

  /** The page was sent, or what is left of it waits in its deals. */
  pass({ ends }: FeedPage): void {
    this.#read = ends
  }

  /** Up to here, events of the deal were read. @throws Unavailable when the log of the deal was away */
  takenOf(dealId: string): Place {
    const place = this.#taken[this.#ports.logOf(dealId)]
    if (!place) throw new Unavailable('database')
    return place
  }

  /**
   * With several logs: these places, up to which all was sent or waits, with the event in its own log. Undefined with
   * one log: then it is the position of the event.
   */
  positionWith({ dealId, position, timeline }: LoggedEvent, places: readonly MarkedPlace[]): string | undefined {
    if (places.length === 1) return undefined
    return positionText(
      places.with(this.#ports.logOf(dealId), { ...beginning, position, mark: timelineMark(timeline) }),
    )
  }
}
