/**
 * Nonces of requests to `/internal`. Each nonce can be used once, on one of all auth servers. The shared cache
 * remembers them, and this process does too. The memory of the process decides alone while there is no shared cache, or
 * while it does not answer.
 */

import { type Cache, cacheKey } from '../../../shared/platform/cache/cache.ts'
import type { Clock } from '../../../shared/platform/clock.ts'
import { Unavailable } from '../../../shared/platform/problems/errors.ts'
import { type InternalCaller, internalToleranceSeconds } from '../../../shared/protocol/internal-api/requests.ts'

/** Other parts that the check of nonces uses. */
export interface InternalNoncesPorts {
  /** The cache that auth servers share. Undefined where the cache is part of this process. */
  readonly cache: Pick<Cache, 'putVersioned'> | undefined
  readonly clock: Clock
  /** The number of nonces of the pair, and of each service, that this process remembers. */
  readonly maxNonces?: number
}

/** The signer of a request: a service, or the pair. */
export interface NonceOf extends Pick<InternalCaller, 'nonce' | 'time'> {
  /** The id of the service; undefined for the pair. */
  readonly service: string | undefined
}

/** Uses the nonce of a request. False when it was used before, or when that is no longer known. */
export type UseInternalNonce = (caller: NonceOf) => Promise<boolean>

/** The server accepts a request within the tolerance before and after its time. Later its nonce can be forgotten. */
const lifeSeconds = 2 * internalToleranceSeconds + 1

/** After a failure the cache is not used for this time, in milliseconds. So requests do not all wait for it. */
const pauseMs = 1_000

const keyOf = (nonce: string): string => cacheKey(`internal-nonce:${nonce}`)

/** Takes at most 16 MB for the pair and 5 MB for a service: a nonce has at most 64 characters. */
const maxOfPair = 100_000
const maxOfService = 30_000
/** Above this number of signers, those that have not asked of late are forgotten. */
const manySigners = 2_000

/** Creates the check of nonces for one auth server. */
export function createInternalNonces({ cache, clock, maxNonces }: InternalNoncesPorts): UseInternalNonce {
  const bySigner = new Map<string, OwnNonces>()
  let cacheRetryAt = 0
  /** What one signer sends displaces nothing of another one. */
  const nonceOf = (signer: string, now: number): OwnNonces => {
    const known = bySigner.get(signer)
    if (known) return known
    if (bySigner.size >= manySigners)
      for (const [other, nonces] of bySigner) if (nonces.isEmptyAt(now)) bySigner.delete(other)
    const made = new OwnNonces(maxNonces ?? (signer === '' ? maxOfPair : maxOfService))
    bySigner.set(signer, made)
    return made
  }
  return async function useNonce({ nonce: sent, time, service }) {
    const now = Math.floor(clock.now() / 1000)
    const nonce = service === undefined ? sent : `${service}.${sent}`
    if (!nonceOf(service ?? '', now).use(nonce, time, now)) return false
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

  /** True when no nonce is left that could be used again. */
  isEmptyAt(now: number): boolean {
    this.#forget(now - internalToleranceSeconds - 1)
    return this.#count === 0
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
