import type { Cache } from '../../../shared/platform/cache/cache.ts'
import { systemClock } from '../../../shared/platform/clock.ts'
import { openRedisCache, type RedisCacheOptions } from '../../../shared/platform/redis/redis-cache.ts'

/** The SERVICE_SECRET of caches that no server has opened. */
export const cacheSecret = 'a service secret of 32 characters or more'

/** A cache in Redis as servers open it. */
export const openTestCache = (url: string, options: Partial<RedisCacheOptions> = {}): Cache =>
  openRedisCache(url, { clock: systemClock, secrets: [cacheSecret], ...options })
