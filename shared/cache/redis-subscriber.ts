import type { Redis } from 'ioredis'
import type { ChannelListeners } from './channel-listeners.ts'
import { withDeadline } from './deadline.ts'
import type { RedisConnections } from './redis-connections.ts'

const pingIntervalMs = 500
const reconnectDelayMs = 100

export interface RedisSubscriberParts {
  readonly connections: RedisConnections
  readonly listeners: ChannelListeners
  /** The longest that `subscribe` and its undoing wait for Redis, in milliseconds. */
  readonly timeoutMs: number
  readonly onError: (error: Error) => void
}

/**
 * Hears the channels on a connection of its own and delivers to the listeners. Every lost connection is replaced by a new one that
 * subscribes to everything again: the resubscription of ioredis forgets its channels when a connection is lost before SUBSCRIBE
 * was answered, and leaves a rejection unhandled. A regular PING makes a silent connection fail by its socket timeout.
 */
export class RedisSubscriber {
  readonly #parts: RedisSubscriberParts
  #connection: Redis | undefined
  #reconnect: NodeJS.Timeout | undefined
  #ping: NodeJS.Timeout | undefined
  #closed = false
  /** Those who wait for the first answer of the connection under way. */
  #waiting: (() => void)[] = []

  constructor(parts: RedisSubscriberParts) {
    this.#parts = parts
  }

  /** As `Cache.subscribe`. */
  async subscribe(channel: string, listener: (message: string) => void): Promise<() => Promise<void>> {
    const remove = this.#parts.listeners.add(channel, listener)
    await this.#settled(this.#subscribed(channel))
    return async () => {
      remove()
      if (this.#parts.listeners.channels().includes(channel) || this.#connection?.status !== 'ready') return
      await this.#settled(this.#connection.unsubscribe(channel))
    }
  }

  close(): void {
    this.#closed = true
    clearTimeout(this.#reconnect)
    clearInterval(this.#ping)
    this.#connection?.disconnect()
    this.#release()
  }

  async #subscribed(channel: string): Promise<unknown> {
    if (this.#closed) return
    if (this.#connection?.status === 'ready') return this.#connection.subscribe(channel)
    if (this.#connection === undefined && this.#reconnect === undefined) this.#connect()
    if (this.#connection === undefined) return
    return new Promise<void>((resolve) => this.#waiting.push(resolve))
  }

  async #settled(answer: Promise<unknown>): Promise<void> {
    await withDeadline(answer, this.#parts.timeoutMs).catch(() => undefined)
  }

  #connect(): void {
    this.#reconnect = undefined
    const connection = this.#parts.connections.openSubscriber()
    this.#connection = connection
    this.#ping ??= setInterval(() => this.#check(), pingIntervalMs)
    if (connection === undefined) this.#connectLater()
    else this.#attend(connection)
  }

  #attend(connection: Redis): void {
    connection.on('error', this.#parts.onError)
    connection.on('message', (channel: string, message: string) => this.#parts.listeners.addressees(channel)(message))
    connection.on('ready', () => this.#subscribeAll(connection))
    connection.on('end', () => this.#connectLater())
  }

  #connectLater(): void {
    this.#connection = undefined
    this.#release()
    if (!this.#closed) this.#reconnect = setTimeout(() => this.#connect(), reconnectDelayMs)
  }

  #subscribeAll(connection: Redis): void {
    const channels = this.#parts.listeners.channels()
    const answer = channels.length === 0 ? Promise.resolve() : connection.subscribe(...channels)
    answer.then(
      () => this.#release(),
      () => connection.disconnect(),
    )
  }

  #check(): void {
    const connection = this.#connection
    if (connection?.status !== 'ready') return
    if (this.#parts.connections.isCurrent(connection)) connection.ping().catch(() => undefined)
    else connection.disconnect()
  }

  #release(): void {
    for (const resolve of this.#waiting.splice(0)) resolve()
  }
}
