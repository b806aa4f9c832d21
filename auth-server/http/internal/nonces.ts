/**
 * Nonces of requests to `/internal`. Each nonce can be used once, on one of all auth servers. The shared cache
 * remembers them, and this process does too. The memory of the process decides alone while there is no shared cache, or
 * while it does not answer.
 */

import type { Cache } from '../../../shared/platform/cache/cache.ts'
import { laneKey, laneOf } from '../../../shared/platform/cache/lanes.ts'
import type { Clock } from '../../../shared/platform/clock.ts'
import { Unavailable } from '../../../shared/platform/problems/errors.ts'
import { type InternalCaller, internalToleranceSeconds } from '../../../shared/protocol/internal-api/requests.ts'

/** Other parts that the check of nonces uses. */
export interface InternalNoncesPorts {
  /** The cache that auth servers share. Undefined where the cache is part of this process. */
  readonly cache: Pick<Cache, 'putVersioned'> | undefined
  readonly clock: Clock
  /** The number of nonces that this process remembers. */
  readonly maxNonces?: number
}

/** Uses the nonce of a request. False when it was used before, or when that is no longer known. */
export type UseInternalNonce = (caller: Pick<InternalCaller, 'nonce' | 'time'>) => Promise<boolean>

/** The server accepts a request within the tolerance before and after its time. Later its nonce can be forgotten. */
const lifeSeconds = 2 * internalToleranceSeconds + 1

/** After a failure the cache is not used for this time, in milliseconds. So requests do not all wait for it. */
const pauseMs = 1_000

const keyOf = (nonce: string): string => laneKey(laneOf(nonce), `internal-nonce:${nonce}`)

/** Takes at most 16 MB: a nonce has at most 64 characters. */
const defaultMaxNonces = 100_000

/** Creates the check of nonces for one auth server. */
export function createInternalNonces({
  cache,
  clock,
  maxNonces = defaultMaxNonces,
}: InternalNoncesPorts): UseInternalNonce {
  const own = new OwnNonces(maxNonces)
  let cacheRetryAt = 0
  return async function useNonce({ nonce, time }) {
    if (!own.use(nonce, time, Math.floor(clock.now() / 1000))) return false
    if (!cache || clock.monotonic() < cacheRetryAt) return true
    const options = { ttlSeconds: lifeSeconds, ifAbsent: true }
    try {
      return await cache.putVersioned(keyOf(nonce), { version: 1, value: '' }, options)
    } catch (error) {
      if (!(error instanceof Unavailable)) throw error
      cacheRetryAt = clock.monotonic() + pauseMs
      return true
    }
  }
}

/**
 * The nonces that this process remembers, by the second in which they were signed. When there are too many, those of
 * the earliest second are forgotten. From then on nothing that was signed in that second or before is accepted, so a
 * forgotten nonce cannot be used again.
 */
class OwnNonces {
  readonly #bySecond = new Map<number, Set<string>>()
  readonly #max: number
  #count = 0
  #forgottenUntil = Number.NEGATIVE_INFINITY

  constructor(max: number) {
    this.#max = max
  }

  /** Uses a nonce; false when it must not be used. `time` and `now` are Unix seconds. */
  use(nonce: string, time: number, now: number): boolean {
    this.#forget(now - internalToleranceSeconds - 1)
    if (time <= this.#forgottenUntil) return false
    const ofSecond = this.#bySecond.get(time) ?? new Set()
    if (ofSecond.has(nonce)) return false
    this.#bySecond.set(time, ofSecond.add(nonce))
    this.#count += 1
    if (this.#count > this.#max) this.#forget(Math.min(...this.#bySecond.keys()))
    return true
  }

  /** Forgets nonces that were signed in this second or before. */
  #forget(until: number): void {
    if (until <= this.#forgottenUntil) return
    this.#forgottenUntil = until
    for (const [second, nonces] of this.#bySecond) {
      if (second > until) continue
      this.#bySecond.delete(second)
      this.#count -= nonces.size
    }
  }
}
