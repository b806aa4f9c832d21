/**
 * The cache port: data that servers share in Redis, or in this process when there is no Redis. A cache may lose data at
 * any time and is never the system of record. Adapters: `redis-cache.ts` and `memory-cache.ts`; one test suite runs
 * over both.
 *
 * A *run* of the cache lasts while one Redis process is the master without interruption. After a restart from a dump,
 * or when a replica takes over, Redis may hold older data than was once written. Therefore data of one run is never
 * used in another run.
 */

import type { Listener } from './channel-listeners.ts'

/** A value with its version. The value with the higher version is newer. */
export interface Versioned {
  readonly version: number
  readonly value: string
}

/** A point on the clock of the cache within one run. `Cache.time` makes it: `RUN:MILLISECONDS`. */
export type CacheTime = string

/** The key or channel `name`. All have one prefix, to which a user of Redis can be restricted. */
export const cacheKey = (name: string): string => `{keyhold:all}:${name}`

/** The life of an entry, and conditions for keeping it. */
export interface PutOptions {
  readonly ttlSeconds: number
  /** Keep the entry only if there is no valid entry yet. */
  readonly ifAbsent?: boolean
  /**
   * Keep the entry only if the run of the cache is still the same: data that was read from the database before may be
   * outdated.
   */
  readonly since?: CacheTime
}

/** Limits the failures within a window. Attempts in flight count as failures until they have ended. */
export interface AttemptLimit {
  readonly count: number
  /** A window begins with its first failure. */
  readonly seconds: number
}

/** A key under which attempts are counted, and its limit. */
export interface LimitedKey {
  readonly key: string
  readonly limit: AttemptLimit
}

/** Whether all keys allow an attempt. `busy` means: not now, only because of other attempts in flight. */
export type AttemptVerdict =
  | { readonly state: 'allowed' }
  | { readonly state: 'busy' }
  | { readonly state: 'exhausted'; readonly retryAfterMs: number }

/** How long an attempt that never ended counts as in flight, in milliseconds. */
export const attemptLifeMs = 30_000

/** The use of one of a key's numbers. */
export interface NumberUse {
  readonly number: number
  /** How long the key is kept after this use. */
  readonly ttlSeconds: number
}

/** A time without a gap, on the monotonic clock. */
export interface Listening {
  readonly since: number
  readonly until: number
}

/** A cache in Redis or in memory. */
export interface Cache {
  /**
   * Counts the attempt `id` as in flight under all keys if every key has room for it, and under no key otherwise. One
   * atomic step. Every attempt must be ended with `endAttempt`, unless it was not allowed; also when this call got no
   * answer. @throws Unavailable
   */
  beginAttempt(keys: readonly LimitedKey[], id: string): Promise<AttemptVerdict>

  /** Ends an attempt in flight. Counts it as a failure if it failed. @throws Unavailable */
  endAttempt(keys: readonly LimitedKey[], attempt: { readonly id: string; readonly failed: boolean }): Promise<void>

  /** Answers as `beginAttempt` would, and counts nothing. @throws Unavailable */
  allowsAttempt(keys: readonly LimitedKey[]): Promise<AttemptVerdict>

  /**
   * Marks `number` as used. A client counts the numbers of a key up and uses each of them once. A number is refused if
   * it was used, or if it is 64 or more behind the highest one (`number-window.ts`). `unknown` means that this run of
   * the cache has no numbers of the key: only a caller that knows that none was ever used may start them. One atomic
   * step. @throws Unavailable
   */
  useNumber(key: string, use: NumberUse): Promise<'used' | 'refused' | 'unknown'>

  /** Starts the numbers of a key with its first use. Removes earlier numbers. @throws Unavailable */
  startNumbers(key: string, use: NumberUse): Promise<void>

  /**
   * Keeps `entry` unless there is one with a higher version (an equal version is replaced). Answers false when it was
   * not kept. One atomic step. @throws Unavailable
   */
  putVersioned(key: string, entry: Versioned, options: PutOptions): Promise<boolean>

  /** The entry; undefined when there is none that was written in this run of the cache. @throws Unavailable */
  getVersioned(key: string): Promise<Versioned | undefined>

  /** The present point in time, for a later `putVersioned` or `publish`. @throws Unavailable */
  time(): Promise<CacheTime>

  /**
   * Sends `message` to every present subscriber of `channel`, if the run of the cache is still that of `since`, and
   * at most `maxAgeMs` have passed on the clock of the cache: a delayed message must not arrive as fresh. Answers false
   * when it was too late. Delivery is at most once; a subscriber that is away misses the message. @throws Unavailable
   */
  publish(channel: string, message: string, fresh: { since: CacheTime; maxAgeMs: number }): Promise<boolean>

  /**
   * Calls `listener` with every new message of `channel`, in the order of publication, across reconnections, until the
   * returned function is called. Resolves when subscribed, or at once when the cache cannot be reached: it then keeps
   * trying. The listener also gets the longest time that the message may have travelled, in milliseconds.
   */
  subscribe(channel: string, listener: Listener): Promise<() => Promise<void>>

  /** True while the connection of the subscriptions does not answer: messages may arrive late. Cheap. */
  isSilent(): boolean

  /** The time of which the subscriptions have got every message; undefined while they get none. Cheap. */
  listening(): Listening | undefined

  /** Resolves when the cache answers. @throws Unavailable */
  ping(): Promise<void>

  close(): Promise<void>
}

/** Checks a version. @throws RangeError unless it is a whole number that both JavaScript and Lua compare exactly */
export function assertVersion(version: number): void {
  if (!Number.isSafeInteger(version) || version < 0) throw new RangeError('a version must be a whole number below 2^53')
}

/** A time to live in whole milliseconds, at least one. */
export const lifetimeMs = (ttlSeconds: number): number => Math.max(1, Math.ceil(ttlSeconds * 1000))
