/**
 * The events that were read last, by the shared reader or by one stream that catches up. After another server took
 * over, they show up to which event its log is the one that clients know.
 */
import type { EventLog } from './event-log.ts'
import type { Place } from './position.ts'

/** More events are lost only by a standby that was far behind. An entry takes a hundred bytes. */
const defaultMaxPlaces = 10_000

/** Where the logs of two histories part. */
export interface Fork {
  readonly from: Place['history']
  readonly to: Place['history']
  /** The last event that is in both; undefined when the log of `to` has none of the remembered ones. */
  readonly common: Place | undefined
}

/** The places of the last events, of one history. */
export class Trail {
  readonly #log: EventLog
  readonly #maxPlaces: number
  #history: Place['history']
  #places: Place[] = []
  #fork: { readonly to: Place['history']; readonly found: Promise<Fork> } | undefined

  constructor(log: EventLog, maxPlaces = defaultMaxPlaces) {
    this.#log = log
    this.#maxPlaces = maxPlaces
  }

  /** Adds places that follow the former ones. Those of another history begin a new trail. */
  add(places: readonly Place[]): void {
    for (const { position, id, history } of places) {
      if (history !== this.#history) this.#places = []
      this.#history = history
      this.#places.push({ position, id })
    }
    const tooMany = this.#places.length - this.#maxPlaces
    if (tooMany >= this.#maxPlaces) this.#places.splice(0, tooMany)
  }

  /**
   * Finds where the log of this history parted from the trail, by one read for all callers: all streams of a server
   * ask at the same time. It stays known when a new trail begins.
   *
   * @throws Unavailable
   */
  forkTo(to: Place['history']): Promise<Fork> {
    if (this.#fork && this.#fork.to === to) return this.#fork.found
    const found = this.#find(to)
    const fork = { to, found }
    this.#fork = fork
    // After an outage, the next caller asks again.
    found.catch(() => {
      if (this.#fork === fork) this.#fork = undefined
    })
    return found
  }

  async #find(to: Place['history']): Promise<Fork> {
    const from = this.#history ?? to
    const place = await this.#log.findLast(this.#places)
    return { from, to, common: place?.history === to && from !== to ? place : undefined }
  }
}
