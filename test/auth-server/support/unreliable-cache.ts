import type { Cache } from '../../../shared/platform/cache/cache.ts'
import { createMemoryCache } from '../../../shared/platform/cache/memory-cache.ts'
import { systemClock } from '../../../shared/platform/clock.ts'
import { Unavailable } from '../../../shared/platform/problems/errors.ts'
import { feedChannel, seriesChannel } from '../../../shared/protocol/principal/change-feed.ts'

/** What happens to a call: it works, it never arrives, or it takes effect and its answer is lost. */
export type Fate = 'works' | 'lost' | 'answer-lost'

/** A cache that loses calls and answers, and that can be replaced by an empty one while it is in use. */
export interface UnreliableCache extends Cache {
  /** What becomes of the next calls, one by one; after them all work. */
  fates: Fate[]
  /** Runs before each call; a test decides there in which order calls take effect. */
  beforeCall: () => Promise<unknown>
  /** A new, empty run of the cache, as Redis has after a restart. */
  restart(): Promise<void>
  /** The cache behind, without losses. */
  readonly reliable: Cache
}

/**
 * Creates one. `onMessage` hears every message of the instance's principal feed, `onPart` every part of its series,
 * across restarts.
 */
export async function createUnreliableCache(
  instanceId: string,
  onMessage: (text: string) => void,
  onPart: (text: string) => void = () => undefined,
): Promise<UnreliableCache> {
  const open = async () => {
    const opened = createMemoryCache(systemClock)
    await opened.subscribe(feedChannel(instanceId), onMessage)
    await opened.subscribe(seriesChannel(instanceId), onPart)
    return opened
  }
  let inner = await open()

  async function call<Result>(work: (cache: Cache) => Promise<Result>): Promise<Result> {
    await cache.beforeCall()
    const fate = cache.fates.shift() ?? 'works'
    if (fate === 'lost') throw new Unavailable('cache')
    const result = await work(inner)
    if (fate === 'answer-lost') throw new Unavailable('cache')
    return result
  }

  const cache: UnreliableCache = {
    fates: [],
    beforeCall: async () => undefined,
    restart: async () => {
      inner = await open()
    },
    get reliable() {
      return inner
    },
    useNumber: (key, use) => call((real) => real.useNumber(key, use)),
    startNumbers: (key, use) => call((real) => real.startNumbers(key, use)),
    beginAttempt: (keys, id) => call((real) => real.beginAttempt(keys, id)),
    endAttempt: (keys, attempt) => call((real) => real.endAttempt(keys, attempt)),
    allowsAttempt: (keys) => call((real) => real.allowsAttempt(keys)),
    putVersioned: (key, entry, options) => call((real) => real.putVersioned(key, entry, options)),
    getVersioned: (key) => call((real) => real.getVersioned(key)),
    time: () => call((real) => real.time()),
    publish: (channel, message, fresh) => call((real) => real.publish(channel, message, fresh)),
    subscribe: (channel, listener) => inner.subscribe(channel, listener),
    isSilent: () => inner.isSilent(),
    listening: () => inner.listening(),
    ping: () => call((real) => real.ping()),
    close: () => inner.close(),
  }
  return cache
}
