import type { Cache } from '../cache/cache.ts'
import { createMemoryCache } from '../cache/memory-cache.ts'
import type { Forgery } from '../cache/report-forgeries.ts'
import { createUnsharedCache } from '../cache/unshared-cache.ts'
import type { Clock } from '../clock.ts'
import { openRedisCache } from './redis-cache.ts'
import { noRedis } from './redis-url.ts'

interface OpenCacheOptions {
  /** `REDIS_URL`; undefined for the cache of a process that is the only one; `none` for processes without a cache. */
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
  /** Called with a sentence for the operator, when Redis cannot be used as `redisUrl` names it. */
  readonly onAdvice?: (sentence: string) => void
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
