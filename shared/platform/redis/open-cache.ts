import type { Cache } from '../cache/cache.ts'
import { createMemoryCache } from '../cache/memory-cache.ts'
import { createUnsharedCache } from '../cache/unshared-cache.ts'
import { openRedisCache, type RedisCacheOptions } from './redis-cache.ts'
import { noRedis } from './redis-url.ts'

interface OpenCacheOptions extends RedisCacheOptions {
  /** `REDIS_URL`; undefined for the cache of a process that is the only one; `none` for processes without a cache. */
  readonly redisUrl: string | undefined
}

/**
 * Opens the cache that the settings ask for. Never waits for Redis. @throws Error when `redisUrl` is not an address of
 * Redis
 */
export function openCache({ redisUrl, ...options }: OpenCacheOptions): Cache {
  if (redisUrl === undefined) return createMemoryCache(options.clock, options)
  if (redisUrl === noRedis) return createUnsharedCache(options.clock, options)
  return openRedisCache(redisUrl, options)
}
