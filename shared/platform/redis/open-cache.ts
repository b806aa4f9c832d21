import type { Cache } from '../cache/cache.ts'
import { createMemoryCache } from '../cache/memory-cache.ts'
import type { Forgery } from '../cache/report-forgeries.ts'
import type { Clock } from '../clock.ts'
import { openRedisCache } from './redis-cache.ts'

export interface OpenCacheOptions {
  /** `REDIS_URL`; the cache is in this process when it is undefined. */
  readonly redisUrl: string | undefined
  readonly clock: Clock
  /** SERVICE_SECRET: all that are accepted. Nothing in Redis is believed that was not written under one of them (`cache-seals.ts`). */
  readonly secrets: readonly string[]
  /** Hears what a listener of a channel threw. */
  readonly onListenerError?: (error: unknown) => void
  /** Hears of what stands in Redis and is not believed. */
  readonly onForgery?: (forgery: Forgery) => void
}

/**
 * Opens the cache that the settings ask for. Never waits for Redis.
 * @throws Error when `redisUrl` is not an address of Redis
 */
export function openCache({ redisUrl, ...options }: OpenCacheOptions): Cache {
  return redisUrl === undefined ? createMemoryCache(options.clock, options) : openRedisCache(redisUrl, options)
}
