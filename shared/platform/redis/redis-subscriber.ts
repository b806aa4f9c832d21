import type { Redis } from 'ioredis'
import type { Listening } from '../cache/cache.ts'
import type { ChannelListeners, Listener } from '../cache/channel-listeners.ts'
import type { Clock } from '../clock.ts'
import { withDeadline } from '../concurrency/deadline.ts'
import type { RedisConnections } from './redis-connections.ts'

const pingIntervalMs = 100
const reconnectDelayMs = 100

/** A connection is silent if its PING has no answer for this time, in milliseconds. */
export const silentAfterMs = 200

interface RedisSubscriberParts {
  readonly connections: RedisConnections
  readonly listeners: ChannelListeners
  /** The message in a text on a channel; undefined when it must be ignored. */
  readonly open: (channel: string, text: string) => string | undefined
  readonly clock: Clock
  /** The longest time that subscribing and unsubscribing wait for Redis, in milliseconds. */
  readonly timeoutMs: number
  readonly onError: (error: Error) => void
}

/** A PING that has no answer yet. */
interface OpenPing {
  readonly sentAt: number
  readonly alarm: NodeJS.Timeout
}

/**
 * Receives messages of channels on a connection of its own and delivers them to the listeners. It replaces every lost
 * connection by a new one that subscribes to all channels again: the resubscription of ioredis loses its channels when
 * a connection is lost before the answer to SUBSCRIBE, and leaves a rejection unhandled.
 *
 * A regular PING measures the connection, and makes a broken one fail by its socket timeout. Redis answers in order: a
 * message that arrives after the answer to a PING was published after that PING was sent. So no message is older than
 * the last answered PING.
 */
export class RedisSubscriber {
  readonly #parts: RedisSubscriberParts
  #connection: Redis | undefined
  /** Why Redis refused the last subscription; each reason is reported once. */
  #refusal: string | undefined
  #reconnect: NodeJS.Timeout | undefined
  #check: NodeJS.Timeout | undefined
  #closed = false
  /** A message that arrives now was published after this time on the monotonic clock. */
  #publishedAfter = Number.NEGATIVE_INFINITY
  #openPing: OpenPing | undefined
  #isSilent = false
  /** When the present connection had subscribed to the last channel. */
  #subscribedAt: number | undefined
  /** Callers that wait for the first answer of the connection that is being opened. */
  #waiting: (() => void)[] = []

  constructor(parts: RedisSubscriberParts) {
    this.#parts = parts
  }

  /** As `Cache.isSilent`. */
  get isSilent(): boolean {
    return this.#isSilent
  }

  /** As `Cache.listening`. */
  get listening(): Listening | undefined {
    return this.#subscribedAt === undefined ? undefined : { since: this.#subscribedAt, until: this.#publishedAfter }
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
    if (this.#connection?.status === 'ready') return this.#listenTo(this.#connection, [channel])
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
    this.#check ??= setInterval(() => this.#checkConnection(), pingIntervalMs)
    if (connection === undefined) this.#connectLater()
    else this.#attend(connection)
  }

  #attend(connection: Redis): void {
    connection.on('error', this.#parts.onError)
    connection.on('message', (channel: string, text: string) => this.#onMessage(channel, text))
    connection.on('ready', () => this.#subscribeAll(connection))
    connection.on('end', () => this.#connectLater())
  }

  #onMessage(channel: string, text: string): void {
    const { open, listeners, clock } = this.#parts
    const message = open(channel, text)
    if (message === undefined) return
    listeners.addressees(channel)(message, clock.monotonic() - this.#publishedAfter)
  }

  #connectLater(): void {
    this.#connection = undefined
    this.#subscribedAt = undefined
    this.#forgetPing()
    this.#release()
    if (!this.#closed) this.#reconnect = setTimeout(() => this.#connect(), reconnectDelayMs)
  }

  #subscribeAll(connection: Redis): void {
    const channels = this.#parts.listeners.channels()
    const answer = channels.length === 0 ? Promise.resolve() : this.#listenTo(connection, channels)
    answer.then(
      () => {
        this.#refusal = undefined
        this.#release()
      },
      (error: Error) => {
        if (error.name === 'ReplyError' && error.message !== this.#refusal) this.#parts.onError(error)
        this.#refusal = error.message
        connection.disconnect()
      },
    )
    this.#ping(connection)
  }

  async #listenTo(connection: Redis, channels: readonly string[]): Promise<void> {
    await connection.subscribe(...channels)
    if (connection === this.#connection) this.#subscribedAt = this.#parts.clock.monotonic()
  }

  #checkConnection(): void {
    const connection = this.#connection
    if (connection?.status !== 'ready') return
    if (this.#parts.connections.isCurrent(connection)) this.#ping(connection)
    else connection.disconnect()
  }

  /**
   * Sends one PING at a time. An answer that a busy event loop has not read yet is not missing: immediates run after
   * sockets.
   */
  #ping(connection: Redis): void {
    if (this.#openPing !== undefined) return
    const markSilent = () => {
      if (this.#openPing === ping) this.#isSilent = true
    }
    const alarm = setTimeout(() => setImmediate(markSilent), silentAfterMs)
    const ping: OpenPing = { sentAt: this.#parts.clock.monotonic(), alarm }
    this.#openPing = ping
    const answered = () => {
      if (this.#openPing !== ping) return
      this.#forgetPing()
      this.#publishedAfter = ping.sentAt
      this.#isSilent = false
    }
    // A PING that fails ends with its connection.
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
