/**
 * The events that were read last, by the shared reader or by one stream that catches up. After another server took
 * over, they show up to which event its log is the one that clients know.
 */
import type { EventLog } from './event-log.ts'
import type { Place, TimelineId } from './position.ts'

/** More events are lost only by a standby that was far behind. An entry takes a hundred bytes. */
const defaultMaxPlaces = 10_000

/** Where the logs of two timelines part. */
export interface Fork {
  readonly from: TimelineId
  readonly to: TimelineId
  /** The last event that is in both; undefined when the log of `to` has none of the remembered ones. */
  readonly common: Place | undefined
}

/** The places of the last events, on one timeline. */
export class Trail {
  readonly #log: Pick<EventLog, 'findLast'>
  readonly #maxPlaces: number
  #timeline: TimelineId | undefined
  #places: Place[] = []
  #fork: { readonly to: TimelineId; readonly found: Promise<Fork> } | undefined

  constructor(log: Pick<EventLog, 'findLast'>, maxPlaces = defaultMaxPlaces) {
    this.#log = log
    this.#maxPlaces = maxPlaces
  }

  /** Adds places that follow the former ones. Those of another timeline begin a new trail. */
  add(timeline: TimelineId, places: readonly Place[]): void {
    if (timeline !== this.#timeline) this.#places = []
    this.#timeline = timeline
    for (const { position, id } of places) this.#places.push({ position, id })
    const tooMany = this.#places.length - this.#maxPlaces
    if (tooMany >= this.#maxPlaces) this.#places.splice(0, tooMany)
  }

  /**
   * Finds where the log of this timeline parted from the trail, by one read for all callers: all streams of a server
   * ask at the same time. It stays known when a new trail begins.
   *
   * @throws Unavailable
   */
  forkTo(to: TimelineId): Promise<Fork> {
    if (this.#fork?.to === to) return this.#fork.found
    const found = this.#find(to)
    const fork = { to, found }
    this.#fork = fork
    // After an outage, the next caller asks again.
    found.catch(() => {
      if (this.#fork === fork) this.#fork = undefined
    })
    return found
  }

  async #find(to: TimelineId): Promise<Fork> {
    const from = this.#timeline ?? to
    const { place, timeline } = await this.#log.findLast(this.#places)
    return { from, to, common: timeline === to && from !== to ? place : undefined }
  }
}
