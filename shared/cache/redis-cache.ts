import { Unavailable } from '../errors.ts'
import {
  type AttemptVerdict,
  attemptLifeMs,
  type Cache,
  type CacheMoment,
  type LimitedKey,
  type NumberUse,
  type PutOptions,
  type Versioned,
} from './cache.ts'
import { ChannelListeners } from './channel-listeners.ts'
import { withDeadline } from './deadline.ts'
import { connectRedis, type RedisConnections } from './redis-connections.ts'
import { RedisSubscriber } from './redis-subscriber.ts'
import { assertVersion, lifetimeMs } from './versions.ts'

export interface RedisCacheOptions {
  /** The longest wait for an answer of Redis, in milliseconds; 300 when left out. */
  readonly commandTimeoutMs?: number
  /** Hears what a listener of a channel threw. */
  readonly onListenerError?: (error: unknown) => void
}

/** Names the node whose incarnation and clock are meant, in a Cluster: the one of every `{keyhold}…` key. */
const nodeOfKeyhold = '{keyhold}:moment'

/**
 * The cache in Redis 5 or newer: one server (`redis://`, `rediss://`) or, given several nodes separated by commas, a Redis Cluster.
 * Opening returns at once; while Redis is away every call fails within `commandTimeoutMs`, and the same object works again when it
 * is back. In a Cluster, keys and channels must begin with `{keyhold}`, so that one incarnation answers for them all.
 * @throws Error when `url` is not an address of Redis
 */
export function openRedisCache(url: string, options: RedisCacheOptions = {}): Cache {
  return new RedisCache(url, options)
}

class RedisCache implements Cache {
  readonly #connections: RedisConnections
  readonly #subscriber: RedisSubscriber
  readonly #timeoutMs: number
  /** Why the last attempt to connect failed: tells more than that a command found no connection. */
  #connectionError: Error | undefined

  constructor(url: string, options: RedisCacheOptions) {
    const onError = (error: Error): void => {
      this.#connectionError = error
    }
    this.#timeoutMs = options.commandTimeoutMs ?? 300
    this.#connections = connectRedis(url, onError)
    this.#subscriber = new RedisSubscriber({
      connections: this.#connections,
      listeners: new ChannelListeners(options.onListenerError ?? (() => undefined)),
      timeoutMs: this.#timeoutMs,
      onError,
    })
  }

  async beginAttempt(keys: readonly LimitedKey[], id: string): Promise<AttemptVerdict> {
    const argv = [...redisKeysOf(keys), ...countsOf(keys), id, String(attemptLifeMs)]
    return verdictOf(await this.#ask(this.#connections.commands.keyholdBeginAttempt(2 * keys.length, ...argv)))
  }

  async endAttempt(keys: readonly LimitedKey[], { id, failed }: { id: string; failed: boolean }): Promise<void> {
    const windows = keys.map(({ limit }) => String(limit.seconds * 1000))
    const argv = [...redisKeysOf(keys), ...windows, id, failed ? '1' : '0']
    await this.#ask(this.#connections.commands.keyholdEndAttempt(2 * keys.length, ...argv))
  }

  async allowsAttempt(keys: readonly LimitedKey[]): Promise<AttemptVerdict> {
    const argv = [...redisKeysOf(keys), ...countsOf(keys)]
    return verdictOf(await this.#ask(this.#connections.commands.keyholdAllowsAttempt(2 * keys.length, ...argv)))
  }

  async useNumber(key: string, { number, ttlSeconds }: NumberUse): Promise<'used' | 'refused' | 'unknown'> {
    const argv = [String(number), String(lifetimeMs(ttlSeconds))]
    const answer = await this.#ask(this.#connections.commands.keyholdUseNumber(key, ...argv))
    if (answer < 0) return 'unknown'
    return answer === 1 ? 'used' : 'refused'
  }

  async startNumbers(key: string, { number, ttlSeconds }: NumberUse): Promise<void> {
    const argv = [String(number), String(lifetimeMs(ttlSeconds))]
    await this.#ask(this.#connections.commands.keyholdStartNumbers(key, ...argv))
  }

  async putVersioned(key: string, { version, value }: Versioned, options: PutOptions): Promise<boolean> {
    assertVersion(version)
    const conditions = [options.ifAbsent ? '1' : '0', options.since ?? '']
    const lifetime = String(lifetimeMs(options.ttlSeconds))
    const { commands } = this.#connections
    return (await this.#ask(commands.keyholdPutVersioned(key, String(version), value, lifetime, ...conditions))) === 1
  }

  async getVersioned(key: string): Promise<Versioned | undefined> {
    const stored = await this.#ask(this.#connections.commands.keyholdGetVersioned(key))
    return stored === null ? undefined : { version: Number(stored[0]), value: stored[1] }
  }

  async moment(): Promise<CacheMoment> {
    return this.#ask(this.#connections.commands.keyholdMoment(nodeOfKeyhold))
  }

  async publish(
    channel: string,
    message: string,
    { since, maxAgeMs }: { since: CacheMoment; maxAgeMs: number },
  ): Promise<boolean> {
    const { commands } = this.#connections
    return (await this.#ask(commands.keyholdPublish(nodeOfKeyhold, channel, message, since, String(maxAgeMs)))) === 1
  }

  subscribe(channel: string, listener: (message: string) => void): Promise<() => Promise<void>> {
    return this.#subscriber.subscribe(channel, listener)
  }

  async ping(): Promise<void> {
    await this.moment()
  }

  async close(): Promise<void> {
    this.#subscriber.close()
    this.#connections.commands.disconnect()
  }

  async #ask<T>(answer: Promise<T>): Promise<T> {
    try {
      return await withDeadline(answer, this.#timeoutMs)
    } catch (error) {
      throw new Unavailable('cache', { cause: this.#explain(error) })
    }
  }

  // The errors of ioredis carry the command with its arguments, and those of Redis may quote them: only the words go on.
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
