import type { Cache } from '../cache/cache.ts'
import { createMemoryCache } from '../cache/memory-cache.ts'
import type { Forgery } from '../cache/report-forgeries.ts'
import type { Clock } from '../clock.ts'
import { openRedisCache } from './redis-cache.ts'

/** The place, the clock and the secrets of a cache. */
export interface OpenCacheOptions {
  /** `REDIS_URL`; undefined for a cache in this process. */
  readonly redisUrl: string | undefined
  readonly clock: Clock
  /**
   * All accepted values of SERVICE_SECRET. Data in Redis that was not written under one of them is ignored
   * (`cache-seals.ts`).
   */
  readonly secrets: readonly string[]
  /** Called with the errors that listeners of channels throw. */
  readonly onListenerError?: (error: unknown) => void
  /** Called for data in Redis that is not ours and is ignored. */
  readonly onForgery?: (forgery: Forgery) => void
}

/**
 * Opens the cache that the settings ask for. Never waits for Redis. @throws Error when `redisUrl` is not an address of
 * Redis
 */
export function openCache({ redisUrl, ...options }: OpenCacheOptions): Cache {
  return redisUrl === undefined ? createMemoryCache(options.clock, options) : openRedisCache(redisUrl, options)
}
