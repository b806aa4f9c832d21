import { setImmediate as nextTurn } from 'node:timers/promises'
import {
  type AttemptVerdict,
  assertVersion,
  attemptLifeMs,
  type Cache,
  type CacheTime,
  cacheKey,
  type LimitedKey,
  type Listening,
  lifetimeMs,
  type NumberUse,
  type PutOptions,
  type Versioned,
} from '../cache/cache.ts'
import { type CacheSeals, createCacheSeals, type Opened } from '../cache/cache-seals.ts'
import { ChannelListeners, type Listener } from '../cache/channel-listeners.ts'
import type { Forgery } from '../cache/report-forgeries.ts'
import type { Clock } from '../clock.ts'
import { Availability } from '../concurrency/availability.ts'
import { DeadlinePassed, withDeadline } from '../concurrency/deadline.ts'
import { gather } from '../concurrency/gather.ts'
import { Unavailable } from '../problems/errors.ts'
import { type Advice, createAdvice } from './redis-advice.ts'
import { connectRedis, type RedisConnections } from './redis-connections.ts'
import type { CacheScripts, StoredVersion } from './redis-scripts.ts'
import { RedisSubscriber } from './redis-subscriber.ts'

/** The clock, the secrets and the limits of a cache in Redis. */
export interface RedisCacheOptions {
  /** The clock for seals and for the age of messages. Redis measures other times by its own clock. */
  readonly clock: Clock
  /**
   * SERVICE_SECRET: data is written with an HMAC under the first, and read with an HMAC under any of them
   * (`cache-seals.ts`).
   */
  readonly secrets: readonly string[]
  /** The longest wait for an answer of Redis, in milliseconds; 300 when left out. */
  readonly commandTimeoutMs?: number
  /** Called with the errors that listeners of channels throw. */
  readonly onListenerError?: (error: unknown) => void
  /** Called for data that was not written with these secrets and is ignored. */
  readonly onForgery?: (forgery: Forgery) => void
  /** Called with a sentence that says what to do about the address, when Redis cannot be used as it is named. */
  readonly onAdvice?: (sentence: string) => void
}

/** Pause between two probes of a Redis that does not answer, in milliseconds. */
const probeIntervalMs = 100

/** The scripts need a key, although those of the time use none. */
const timeKey = cacheKey('time')

/**
 * The cache in Redis 5 or newer: one server (`redis://`, `rediss://`), or the master that Sentinels name
 * (`redis+sentinel://`). Opening returns at once. While Redis is away, calls fail, at first within `commandTimeoutMs`,
 * then at once; the same object works again when Redis is back. A node of a Redis Cluster is not used: calls fail.
 * @throws Error when `url` is not an address of Redis
 */
export function openRedisCache(url: string, options: RedisCacheOptions): Cache {
  return new RedisCache(url, options)
}

/** A number of a key. */
interface UseOfKey extends NumberUse {
  readonly key: string
}

class RedisCache implements Cache {
  readonly #connections: RedisConnections
  readonly #subscriber: RedisSubscriber
  readonly #seals: CacheSeals
  readonly #availability: Availability
  readonly #timeoutMs: number
  readonly #onForgery: (forgery: Forgery) => void
  readonly #advice: Advice
  /** Uses of numbers are gathered: a script for each of them would cost Redis more than the uses. */
  readonly #useOneNumber = gather<UseOfKey, number>({
    run: (uses) => this.#useNumbers(uses),
    maxItems: 64,
    maxInFlight: 2,
  })
  /** So are reads: each would ask Redis for the run that it is in. */
  readonly #getOne = gather<string, StoredVersion | undefined>({
    run: (keys) => this.#ask((redis) => redis.keyholdGetVersioned(keys.length, ...keys)),
    maxItems: 64,
    maxInFlight: 4,
  })
  /** The error of the last attempt to connect. It says more than the error of a command without connection. */
  #connectionError: Error | undefined

  constructor(url: string, options: RedisCacheOptions) {
    const advice = createAdvice(options.onAdvice ?? (() => undefined))
    this.#advice = advice
    const onError = (error: Error): void => {
      this.#connectionError = error
      advice.giveFor(error)
    }
    this.#timeoutMs = options.commandTimeoutMs ?? 300
    this.#seals = createCacheSeals(options)
    this.#onForgery = options.onForgery ?? (() => undefined)
    this.#availability = new Availability({ probe: () => this.#probe(), probeIntervalMs })
    this.#connections = connectRedis(url, { onError, advice })
    this.#subscriber = new RedisSubscriber({
      connections: this.#connections,
      listeners: new ChannelListeners(options.onListenerError ?? (() => undefined)),
      open: (channel, text) => this.#validValue(this.#seals.openMessage(channel, text), 'message'),
      clock: options.clock,
      timeoutMs: this.#timeoutMs,
      onError,
    })
  }

  async beginAttempt(keys: readonly LimitedKey[], id: string): Promise<AttemptVerdict> {
    const argv = [...redisKeysOf(keys), ...countsOf(keys), id, String(attemptLifeMs)]
    return verdictOf(await this.#ask((redis) => redis.keyholdBeginAttempt(2 * keys.length, ...argv)))
  }

  async endAttempt(keys: readonly LimitedKey[], { id, failed }: { id: string; failed: boolean }): Promise<void> {
    const windows = keys.map(({ limit }) => String(limit.seconds * 1000))
    const argv = [...redisKeysOf(keys), ...windows, id, failed ? '1' : '0']
    await this.#ask((redis) => redis.keyholdEndAttempt(2 * keys.length, ...argv))
  }

  async allowsAttempt(keys: readonly LimitedKey[]): Promise<AttemptVerdict> {
    const argv = [...redisKeysOf(keys), ...countsOf(keys)]
    return verdictOf(await this.#ask((redis) => redis.keyholdAllowsAttempt(2 * keys.length, ...argv)))
  }

  async useNumber(key: string, use: NumberUse): Promise<'used' | 'refused' | 'unknown'> {
    const answer = await this.#useOneNumber({ key, ...use })
    if (answer < 0) return 'unknown'
    return answer === 1 ? 'used' : 'refused'
  }

  async startNumbers(key: string, { number, ttlSeconds }: NumberUse): Promise<void> {
    const argv = [String(number), String(lifetimeMs(ttlSeconds))]
    await this.#ask((redis) => redis.keyholdStartNumbers(key, ...argv))
  }

  async putVersioned(key: string, entry: Versioned, options: PutOptions): Promise<boolean> {
    assertVersion(entry.version)
    const sealed = this.#seals.sealEntry(key, entry, options.ttlSeconds)
    const conditions = [options.ifAbsent ? '1' : '0', options.since ?? '']
    const argv = [String(entry.version), sealed, String(lifetimeMs(options.ttlSeconds)), ...conditions]
    return (await this.#ask((redis) => redis.keyholdPutVersioned(key, ...argv))) === 1
  }

  async getVersioned(key: string): Promise<Versioned | undefined> {
    const stored = await this.#getOne(key)
    if (!stored) return undefined
    const version = Number(stored[0])
    const opened = this.#seals.openEntry(key, { version, value: stored[1] })
    // A forged entry would block valid ones with a lower version.
    if (opened === 'forged') await this.#ask((redis) => redis.keyholdRemoveVersion(key, stored[0]))
    const value = this.#validValue(opened, 'entry')
    return value === undefined ? undefined : { version, value }
  }

  async time(): Promise<CacheTime> {
    return this.#ask((redis) => redis.keyholdTime(timeKey))
  }

  async publish(
    channel: string,
    message: string,
    { since, maxAgeMs }: { since: CacheTime; maxAgeMs: number },
  ): Promise<boolean> {
    const argv = [channel, this.#seals.sealMessage(channel, message), since, String(maxAgeMs)]
    const isPublished = (await this.#ask((redis) => redis.keyholdPublish(timeKey, ...argv))) === 1
    // Redis sends a message to all subscribers before it reads another command; those here read it in this turn.
    await this.time()
    await nextTurn()
    return isPublished
  }

  subscribe(channel: string, listener: Listener): Promise<() => Promise<void>> {
    return this.#subscriber.subscribe(channel, listener)
  }

  isSilent(): boolean {
    return this.#subscriber.isSilent
  }

  listening(): Listening | undefined {
    return this.#subscriber.listening
  }

  async ping(): Promise<void> {
    await this.time()
  }

  async close(): Promise<void> {
    this.#availability.stop(new Unavailable('cache'))
    this.#subscriber.close()
    this.#connections.commands.disconnect()
  }

  #validValue(opened: Opened, what: Forgery): string | undefined {
    if (opened === 'forged') this.#onForgery(what)
    return typeof opened === 'object' ? opened.value : undefined
  }

  #useNumbers(uses: readonly UseOfKey[]): Promise<number[]> {
    const keys = uses.map(({ key }) => key)
    const argv = uses.flatMap(({ number, ttlSeconds }) => [String(number), String(lifetimeMs(ttlSeconds))])
    return this.#ask((redis) => redis.keyholdUseNumbers(keys.length, ...keys, ...argv))
  }

  /** Runs a command. After a time-out, all calls fail at once until a probe is answered. */
  async #ask<T>(command: (redis: CacheScripts) => Promise<T>): Promise<T> {
    this.#availability.check()
    try {
      const answer = await withDeadline(command(this.#connections.commands), this.#timeoutMs)
      this.#advice.wellAgain()
      return answer
    } catch (error) {
      const cause = this.#explain(error)
      this.#advice.giveFor(cause)
      const reason = new Unavailable('cache', { cause })
      if (error instanceof DeadlinePassed) this.#availability.suspend(reason)
      throw reason
    }
  }

  async #probe(): Promise<void> {
    await withDeadline(this.#connections.commands.keyholdTime(timeKey), this.#timeoutMs)
  }

  // Errors of ioredis carry the command with its arguments, and those of Redis may quote them: only the message text is
  // kept.
  #explain(error: unknown): Error {
    const connected = this.#connections.commands.status === 'ready'
    const reason = connected ? error : (this.#connectionError ?? error)
    const words = reason instanceof Error ? reason.message : String(reason)
    return new Error(words.replace(/,? with args beginning with.*/s, ''))
  }
}

const redisKeysOf = (keys: readonly LimitedKey[]): string[] =>
  keys.flatMap(({ key }) => [`${key}:failures`, `${key}:in-flight`])
const countsOf = (keys: readonly LimitedKey[]): string[] => keys.map(({ limit }) => String(limit.count))

function verdictOf(answer: number): AttemptVerdict {
  if (answer === 0) return { state: 'allowed' }
  return answer < 0 ? { state: 'busy' } : { state: 'exhausted', retryAfterMs: answer }
}
