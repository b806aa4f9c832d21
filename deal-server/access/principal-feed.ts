/**
 * Follows the feed of principal changes and knows how far it can be trusted. Current: a message told of a look into the database
 * at most 800 ms ago. Complete: each
 * message began where those before had ended. What was loaded before a gap belongs to an earlier epoch and is not believed any more.
 */
import type { Cache } from '../../shared/cache/cache.ts'
import type { Clock } from '../../shared/clock.ts'
import type { Log } from '../../shared/log.ts'
import { type FeedMessage, feedChannel, feedMaxAgeMs, feedMessageSchema } from '../../shared/principals/feed.ts'

export interface PrincipalFeed {
  /** Subscribes; resolves when subscribed, or when the cache cannot be reached (it then keeps trying). */
  start(): Promise<void>
  stop(): Promise<void>
  /** True while what is in memory and in the cache can be believed. */
  isCurrent(): boolean
  /** When it was current last, on the monotonic clock; minus infinity when never. */
  lastCurrentAt(): number
  /** Grows whenever something may have been missed. */
  epoch(): number
  /** From now on calls `listener` with every change announced: whose record, and the version it has at least. */
  onChange(listener: (foldedUsername: string, version: number) => void): void
  /** The version that a user's record must have at least, as far as messages said; 0 when none did lately. */
  floor(foldedUsername: string): number
  /** Milliseconds since the look into the database that the last message told of; infinite before the first. */
  ageMs(): number
}

/** Floors are kept this long, for loads: much longer than any is under way, in milliseconds. */
const floorKeptMs = 60_000

export function createPrincipalFeed({ cache, clock, log }: { cache: Cache; clock: Clock; log: Log }): PrincipalFeed {
  const floors = new Map<string, { version: number; until: number }>()
  const listeners: ((foldedUsername: string, version: number) => void)[] = []
  let lastLookAt = Number.NEGATIVE_INFINITY
  let followedUpTo: number | undefined
  let epoch = 0
  let unsubscribe: (() => Promise<void>) | undefined

  const raiseFloors = ({ changes }: FeedMessage, now: number) => {
    for (const { username, version } of changes) {
      const known = floors.get(username)?.version ?? 0
      floors.delete(username)
      floors.set(username, { version: Math.max(known, version), until: now + floorKeptMs })
      for (const listener of listeners) listener(username, version)
    }
    // Insertion order is order of expiry.
    for (const [username, { until }] of floors) {
      if (until > now) break
      floors.delete(username)
    }
  }

  const follow = (text: string) => {
    const message = parseMessage(text)
    if (!message) {
      log.error('a message on the principal feed is not one; is another program using the channel?')
      return
    }
    const now = clock.monotonic()
    if (followedUpTo === undefined || message.after > followedUpTo) epoch += 1
    followedUpTo = Math.max(followedUpTo ?? 0, message.upTo)
    raiseFloors(message, now)
    lastLookAt = Math.max(lastLookAt, now - message.ageMs)
  }

  const isCurrent = () => clock.monotonic() - lastLookAt <= feedMaxAgeMs
  return {
    start: async () => {
      unsubscribe = await cache.subscribe(feedChannel, follow)
    },
    stop: async () => unsubscribe?.(),
    isCurrent,
    lastCurrentAt: () => (isCurrent() ? clock.monotonic() : lastLookAt + feedMaxAgeMs),
    epoch: () => epoch,
    onChange: (listener) => void listeners.push(listener),
    floor: (username) => floors.get(username)?.version ?? 0,
    ageMs: () => clock.monotonic() - lastLookAt,
  }
}

function parseMessage(text: string): FeedMessage | undefined {
  try {
    return feedMessageSchema.parse(JSON.parse(text))
  } catch {
    return undefined
  }
}
