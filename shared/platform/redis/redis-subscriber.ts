import type { Redis } from 'ioredis'
import type { ChannelListeners, Listener } from '../cache/channel-listeners.ts'
import type { Clock } from '../clock.ts'
import { withDeadline } from './deadline.ts'
import type { RedisConnections } from './redis-connections.ts'

const pingIntervalMs = 100
const reconnectDelayMs = 100

/** A connection whose PING has had no answer for so long is silent, in milliseconds. */
export const silentAfterMs = 200

export interface RedisSubscriberParts {
  readonly connections: RedisConnections
  readonly listeners: ChannelListeners
  /** What a text on a channel says; undefined when it is not to be heard. */
  readonly open: (channel: string, text: string) => string | undefined
  readonly clock: Pick<Clock, 'monotonic'>
  /** The longest that `subscribe` and its undoing wait for Redis, in milliseconds. */
  readonly timeoutMs: number
  readonly onError: (error: Error) => void
}

/** A PING that has no answer yet. */
interface OpenPing {
  readonly sentAt: number
  readonly alarm: NodeJS.Timeout
}

/**
 * Hears the channels on a connection of its own and delivers to the listeners. Every lost connection is replaced by a new one that
 * subscribes to everything again: the resubscription of ioredis forgets its channels when a connection is lost before SUBSCRIBE
 * was answered, and leaves a rejection unhandled.
 *
 * A regular PING measures the connection, and makes one that is dead fail by its socket timeout. Redis answers in the order of things: what
 * arrives after the answer to a PING was published after that PING was sent, so that no message is older than the last PING answered.
 */
export class RedisSubscriber {
  readonly #parts: RedisSubscriberParts
  #connection: Redis | undefined
  #reconnect: NodeJS.Timeout | undefined
  #check: NodeJS.Timeout | undefined
  #closed = false
  /** What arrives now was published after this moment, on the monotonic clock. */
  #publishedAfter = Number.NEGATIVE_INFINITY
  #openPing: OpenPing | undefined
  #isSilent = false
  /** Those who wait for the first answer of the connection under way. */
  #waiting: (() => void)[] = []

  constructor(parts: RedisSubscriberParts) {
    this.#parts = parts
  }

  /** As `Cache.isSilent`. */
  get isSilent(): boolean {
    return this.#isSilent
  }

  /** As `Cache.subscribe`. */
  async subscribe(channel: string, listener: Listener): Promise<() => Promise<void>> {
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
    clearInterval(this.#check)
    this.#forgetPing()
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
    this.#publishedAfter = this.#parts.clock.monotonic()
    const connection = this.#parts.connections.openSubscriber()
    this.#connection = connection
    this.#check ??= setInterval(() => this.#look(), pingIntervalMs)
    if (connection === undefined) this.#connectLater()
    else this.#attend(connection)
  }

  #attend(connection: Redis): void {
    connection.on('error', this.#parts.onError)
    connection.on('message', (channel: string, text: string) => this.#hear(channel, text))
    connection.on('ready', () => this.#subscribeAll(connection))
    connection.on('end', () => this.#connectLater())
  }

  #hear(channel: string, text: string): void {
    const message = this.#parts.open(channel, text)
    if (message === undefined) return
    this.#parts.listeners.addressees(channel)(message, this.#parts.clock.monotonic() - this.#publishedAfter)
  }

  #connectLater(): void {
    this.#connection = undefined
    this.#forgetPing()
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
    this.#ping(connection)
  }

  #look(): void {
    const connection = this.#connection
    if (connection?.status !== 'ready') return
    if (this.#parts.connections.isCurrent(connection)) this.#ping(connection)
    else connection.disconnect()
  }

  /** One at a time. An answer that a busy event loop has not read yet is none that is missing: immediates run after sockets. */
  #ping(connection: Redis): void {
    if (this.#openPing !== undefined) return
    const beSilent = () => {
      if (this.#openPing === ping) this.#isSilent = true
    }
    const alarm = setTimeout(() => setImmediate(beSilent), silentAfterMs)
    const ping: OpenPing = { sentAt: this.#parts.clock.monotonic(), alarm }
    this.#openPing = ping
    const answered = () => {
      if (this.#openPing !== ping) return
      this.#forgetPing()
      this.#publishedAfter = ping.sentAt
      this.#isSilent = false
    }
    // What failed ends with its connection.
    connection.ping().then(answered, () => undefined)
  }

  #forgetPing(): void {
    clearTimeout(this.#openPing?.alarm)
    this.#openPing = undefined
  }

  #release(): void {
    for (const resolve of this.#waiting.splice(0)) resolve()
  }
}
