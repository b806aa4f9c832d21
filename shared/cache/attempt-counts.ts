import { LRUCache } from 'lru-cache'
import type { Clock } from '../clock.ts'
import { type AttemptLimit, type AttemptVerdict, attemptLifeMs } from './cache.ts'

/** What is known of one key. Times are those of `clock.monotonic()`. */
interface Counted {
  failures: number
  /** When the window of these failures ends. */
  windowEndsAtMs: number
  /** Ids of attempts in flight, and until when each counts. */
  readonly inFlight: Map<string, number>
}

/** Failures and attempts in flight, counted in this process. Bounded: beyond `maxKeys` the key longest not used is forgotten. */
export class AttemptCounts {
  readonly #clock: Clock
  readonly #keys: LRUCache<string, Counted>

  constructor(clock: Clock, maxKeys = 100_000) {
    this.#clock = clock
    this.#keys = new LRUCache({ max: maxKeys })
  }

  /** As `Cache.beginAttempt`. */
  begin(key: string, { id, limit }: { readonly id: string; readonly limit: AttemptLimit }): AttemptVerdict {
    const now = this.#clock.monotonic()
    const counted = this.#at(key, now)
    if (counted.failures >= limit.count) return { state: 'exhausted', retryAfterMs: counted.windowEndsAtMs - now }
    for (const [other, until] of counted.inFlight) if (until <= now) counted.inFlight.delete(other)
    if (counted.failures + counted.inFlight.size >= limit.count) return { state: 'busy' }
    counted.inFlight.set(id, now + attemptLifeMs)
    return { state: 'begun' }
  }

  /** As `Cache.endAttempt`. */
  end(key: string, attempt: { readonly id: string; readonly limit: AttemptLimit; readonly failed: boolean }): void {
    const now = this.#clock.monotonic()
    const counted = this.#at(key, now)
    counted.inFlight.delete(attempt.id)
    if (attempt.failed) {
      if (counted.failures === 0) counted.windowEndsAtMs = now + attempt.limit.seconds * 1000
      counted.failures += 1
    }
    if (counted.failures === 0 && counted.inFlight.size === 0) this.#keys.delete(key)
  }

  #at(key: string, now: number): Counted {
    const present = this.#keys.get(key)
    if (present) {
      if (present.windowEndsAtMs <= now) present.failures = 0
      return present
    }
    const counted = { failures: 0, windowEndsAtMs: 0, inFlight: new Map<string, number>() }
    this.#keys.set(key, counted)
    return counted
  }
}
