import type { Clock } from '../clock.ts'
import type { Cache } from './cache.ts'
import { createMemoryCache } from './memory-cache.ts'
import { openRedisCache } from './redis-cache.ts'

export interface OpenCacheOptions {
  /** `REDIS_URL`; the cache is in this process when it is undefined. */
  readonly redisUrl: string | undefined
  /** Measures lifetimes in the in-process cache; Redis has its own clock. */
  readonly clock: Clock
  /** Hears what a listener of a channel threw. */
  readonly onListenerError?: (error: unknown) => void
}

/**
 * Opens the cache that the settings ask for. Never waits for Redis.
 * @throws Error when `redisUrl` is not an address of Redis
 */
export function openCache({ redisUrl, clock, ...options }: OpenCacheOptions): Cache {
  return redisUrl === undefined ? createMemoryCache(clock, options) : openRedisCache(redisUrl, options)
}
