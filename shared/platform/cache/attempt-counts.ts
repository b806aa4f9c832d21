import type { Clock } from '../clock.ts'
import { type BoundedCache, createBoundedCache } from './bounded-cache.ts'
import { type AttemptVerdict, attemptLifeMs, type LimitedKey } from './cache.ts'

/** The counts of one key. Times are those of `clock.monotonic()`. */
interface Counted {
  failures: number
  /** The end of the window of these failures. */
  windowEndsAtMs: number
  /** Ids of attempts in flight, each with the time until which it counts. */
  readonly inFlight: Map<string, number>
}

/** Counts failures and attempts in flight in this process. Beyond `maxKeys`, the least recently used key is removed. */
export class AttemptCounts {
  readonly #clock: Clock
  readonly #keys: BoundedCache<Counted>

  constructor(clock: Clock, maxKeys = 100_000) {
    this.#clock = clock
    this.#keys = createBoundedCache({ maxEntries: maxKeys, maxBytes: 32_000_000 })
  }

  /** As `Cache.beginAttempt`. */
  begin(keys: readonly LimitedKey[], id: string): AttemptVerdict {
    const verdict = this.allows(keys)
    if (verdict.state !== 'allowed') return verdict
    const until = this.#clock.monotonic() + attemptLifeMs
    for (const { key } of keys) this.#at(key).inFlight.set(id, until)
    return verdict
  }

  /** As `Cache.endAttempt`. */
  end(keys: readonly LimitedKey[], { id, failed }: { readonly id: string; readonly failed: boolean }): void {
    const now = this.#clock.monotonic()
    for (const { key, limit } of keys) {
      const counted = this.#known(key, now) ?? this.#at(key)
      counted.inFlight.delete(id)
      if (failed) {
        if (counted.failures === 0) counted.windowEndsAtMs = now + limit.seconds * 1000
        counted.failures += 1
      }
      if (counted.failures === 0 && counted.inFlight.size === 0) this.#keys.delete(key)
    }
  }

  /** As `Cache.allowsAttempt`. */
  allows(keys: readonly LimitedKey[]): AttemptVerdict {
    const now = this.#clock.monotonic()
    let [isBusy, retryAfterMs] = [false, 0]
    for (const { key, limit } of keys) {
      const counted = this.#known(key, now)
      if (!counted) continue
      const { failures, windowEndsAtMs, inFlight } = counted
      if (failures >= limit.count) retryAfterMs = Math.max(retryAfterMs, windowEndsAtMs - now)
      for (const [id, until] of inFlight) if (until <= now) inFlight.delete(id)
      if (failures + inFlight.size >= limit.count) isBusy = true
    }
    if (retryAfterMs > 0) return { state: 'exhausted', retryAfterMs }
    return { state: isBusy ? 'busy' : 'allowed' }
  }

  #known(key: string, now: number): Counted | undefined {
    const counted = this.#keys.get(key)
    if (counted && counted.windowEndsAtMs <= now) counted.failures = 0
    return counted
  }

  #at(key: string): Counted {
    const present = this.#keys.get(key)
    if (present) return present
    const counted = { failures: 0, windowEndsAtMs: 0, inFlight: new Map<string, number>() }
    this.#keys.set(key, counted)
    return counted
  }
}
