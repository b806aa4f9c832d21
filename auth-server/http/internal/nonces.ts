/**
 * Nonces of requests to `/internal`: each is good once, on whichever auth server. They are remembered in the cache that
 * auth servers share, and in this process, which is what counts while there is no such cache, or it does not answer.
 */

import type { Cache } from '../../../shared/platform/cache/cache.ts'
import type { Clock } from '../../../shared/platform/clock.ts'
import { Unavailable } from '../../../shared/platform/problems/errors.ts'
import { type InternalAsker, internalToleranceSeconds } from '../../../shared/protocol/internal-api/requests.ts'

/** What the nonces need. */
export interface InternalNoncesPorts {
  /** The cache that auth servers share; undefined where it would be in this process. */
  readonly cache: Pick<Cache, 'putVersioned'> | undefined
  readonly clock: Clock
  /** So many nonces are remembered in this process. */
  readonly maxNonces?: number
}

/** Uses the nonce of a request; false when it was used before, or nobody can tell any more. */
export type UseInternalNonce = (asker: Pick<InternalAsker, 'nonce' | 'time'>) => Promise<boolean>

/**
 * A request is accepted from so long before its time until so long after it: afterwards nothing of it need be known.
 */
const lifeSeconds = 2 * internalToleranceSeconds + 1

/** A cache that did not answer is not asked for so long, in milliseconds: no request waits for it again at once. */
const pauseMs = 1_000

/** At most 16 MB: a nonce has 64 characters at most. */
const usualMaxNonces = 100_000

/** The nonces that one auth server knows of. */
export function createInternalNonces({
  cache,
  clock,
  maxNonces = usualMaxNonces,
}: InternalNoncesPorts): UseInternalNonce {
  const own = new OwnNonces(maxNonces)
  let askAgainAt = 0
  return async ({ nonce, time }) => {
    if (!own.use(nonce, time, Math.floor(clock.now() / 1000))) return false
    if (!cache || clock.monotonic() < askAgainAt) return true
    const options = { ttlSeconds: lifeSeconds, ifAbsent: true }
    try {
      return await cache.putVersioned(`{keyhold}:internal-nonce:${nonce}`, { version: 1, value: '' }, options)
    } catch (error) {
      if (!(error instanceof Unavailable)) throw error
      askAgainAt = clock.monotonic() + pauseMs
      return true
    }
  }
}

/**
 * By the second in which they were signed. When there are too many, those of the earliest second are forgotten, and
 * nothing that was signed then or before is accepted any more: what was forgotten cannot come back.
 */
class OwnNonces {
  readonly #bySecond = new Map<number, Set<string>>()
  readonly #max: number
  #count = 0
  #forgottenUntil = Number.NEGATIVE_INFINITY

  constructor(max: number) {
    this.#max = max
  }

  /** `time` and `now` in Unix seconds. */
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

  /** Those that were signed in this second or before. */
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
