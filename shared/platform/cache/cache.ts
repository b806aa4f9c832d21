/**
 * The cache port: what both servers keep in Redis, or in this process when there is no Redis. A cache may lose anything at any
 * time and is never the system of record. Adapters: `redis-cache.ts`, `memory-cache.ts`; one suite runs over both.
 *
 * An *incarnation* is one reign of one running Redis process. What it holds after a restart from a dump, or what a replica brings
 * when it takes over, may be older than what was once written; nothing here believes anything across incarnations.
 */

import type { Listener } from './channel-listeners.ts'

/** A value together with the version that decides which of two is newer. */
export interface Versioned {
  readonly version: number
  readonly value: string
}

/** A moment on the cache's own clock in one incarnation; opaque, from `Cache.moment`. */
export type CacheMoment = string

export interface PutOptions {
  readonly ttlSeconds: number
  /** Keep the entry only if there is none that can be believed. */
  readonly ifAbsent?: boolean
  /** Keep the entry only in the incarnation of this moment: what was read from the database before may be outdated now. */
  readonly since?: CacheMoment
}

/** Attempts that are limited: so many failures within a window, those in flight counted as failures until they have ended. */
export interface AttemptLimit {
  readonly count: number
  /** A window begins with its first failure. */
  readonly seconds: number
}

/** A key under which attempts are counted, and how many it allows. */
export interface LimitedKey {
  readonly key: string
  readonly limit: AttemptLimit
}

/** Whether all keys allow an attempt; `busy`: not now, but only because of others that are in flight. */
export type AttemptVerdict =
  | { readonly state: 'allowed' }
  | { readonly state: 'busy' }
  | { readonly state: 'exhausted'; readonly retryAfterMs: number }

/** How long an attempt that never ended counts as one in flight, in milliseconds. */
export const attemptLifeMs = 30_000

/** The use of one of a key's numbers. */
export interface NumberUse {
  readonly number: number
  /** How long the key is remembered from this use on. */
  readonly ttlSeconds: number
}

export interface Cache {
  /**
   * Counts the attempt `id` as in flight under all keys, if failures and attempts in flight leave room for it everywhere; else nowhere. One
   * atomic step. It must be ended with `endAttempt` unless it was not allowed, also when nothing was answered. @throws Unavailable
   */
  beginAttempt(keys: readonly LimitedKey[], id: string): Promise<AttemptVerdict>

  /** Takes an attempt out of those in flight, and counts it as a failure if it was one. @throws Unavailable */
  endAttempt(keys: readonly LimitedKey[], attempt: { readonly id: string; readonly failed: boolean }): Promise<void>

  /** Whether `beginAttempt` would allow an attempt; counts nothing. @throws Unavailable */
  allowsAttempt(keys: readonly LimitedKey[]): Promise<AttemptVerdict>

  /**
   * Remembers that `number` is used, of numbers that a client counts up and each of which is good once: not yet used, and less
   * than 64 behind the highest one (`number-window.ts`). `unknown` when this incarnation was told of none: only whoever knows that none was ever used
   * may start them. One atomic step. @throws Unavailable
   */
  useNumber(key: string, use: NumberUse): Promise<'used' | 'refused' | 'unknown'>

  /** Starts the numbers of a key with its first use; forgets what was there. @throws Unavailable */
  startNumbers(key: string, use: NumberUse): Promise<void>

  /**
   * Keeps `entry` unless one of a higher version is there (an equal version is replaced); false when it was not kept. One atomic
   * step. @throws Unavailable
   */
  putVersioned(key: string, entry: Versioned, options: PutOptions): Promise<boolean>

  /**
   * The entry, or undefined when there is none, or none that this incarnation was given itself. @throws Unavailable
   */
  getVersioned(key: string): Promise<Versioned | undefined>

  /** The present moment, to be handed to `putVersioned` or `publish` later. @throws Unavailable */
  moment(): Promise<CacheMoment>

  /**
   * Sends `message` to every present subscriber of `channel`, if it is still the incarnation of `since` and at most `maxAgeMs` later on
   * the cache's own clock: a message that was held up on its way must not arrive as fresh. False when it was too late. Delivery
   * is at most once; a subscriber that was away misses it. @throws Unavailable
   */
  publish(channel: string, message: string, fresh: { since: CacheMoment; maxAgeMs: number }): Promise<boolean>

  /**
   * Calls `listener` with every message of `channel` from now on, in the order of publication, across reconnections, until the
   * returned function is called. Resolves when subscribed, or at once when the cache cannot be reached: it then keeps trying.
   * With the message goes how long it was on its way at most, in milliseconds.
   */
  subscribe(channel: string, listener: Listener): Promise<() => Promise<void>>

  /** True while the connection of the subscriptions does not answer: what is published now may arrive late. Costs next to nothing. */
  isSilent(): boolean

  /** Resolves when the cache answers. @throws Unavailable */
  ping(): Promise<void>

  close(): Promise<void>
}
