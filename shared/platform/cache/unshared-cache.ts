import type { Clock } from '../clock.ts'
import { Unavailable } from '../problems/errors.ts'
import type { Cache } from './cache.ts'
import { createMemoryCache, type MemoryCacheOptions } from './memory-cache.ts'

/**
 * The cache of a process that shares none with other processes, because REDIS_URL is `none`. What must be counted over
 * all processes is unavailable, as when Redis is away: its callers then count in their own database, or for themselves.
 * Entries and messages stay in this process. They are as fresh as its own auth server, which reads every change from
 * the database; a process without an auth server gets no message, so it believes none of them.
 */
export function createUnsharedCache(clock: Clock, options: MemoryCacheOptions = {}): Cache {
  const own = createMemoryCache(clock, options)
  const uncounted = async (): Promise<never> => {
    throw new Unavailable('cache', { cause: new Error('REDIS_URL=none') })
  }
  return {
    useNumber: uncounted,
    startNumbers: uncounted,
    beginAttempt: uncounted,
    endAttempt: uncounted,
    allowsAttempt: uncounted,
    putVersioned: (...entry) => own.putVersioned(...entry),
    getVersioned: (...key) => own.getVersioned(...key),
    time: () => own.time(),
    publish: (...message) => own.publish(...message),
    subscribe: (...listener) => own.subscribe(...listener),
    isSilent: () => own.isSilent(),
    // Other processes send their messages elsewhere.
    listening: () => undefined,
    ping: () => own.ping(),
    close: () => own.close(),
  }
}
