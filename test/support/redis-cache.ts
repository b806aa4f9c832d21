import type { Cache } from '../../shared/cache/cache.ts'
import { openRedisCache, type RedisCacheOptions } from '../../shared/cache/redis-cache.ts'
import { systemClock } from '../../shared/clock.ts'

/** The SERVICE_SECRET of caches that no server has opened. */
export const cacheSecret = 'a service secret of 32 characters or more'

/** A cache in Redis as servers open it. */
export const openTestCache = (url: string, options: Partial<RedisCacheOptions> = {}): Cache =>
  openRedisCache(url, { clock: systemClock, secrets: [cacheSecret], ...options })
