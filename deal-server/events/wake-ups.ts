/**
 * Wake-ups: messages between deal servers through the cache that there may be new events. A lost wake-up only delays,
 * because readers also read at an interval. NOTIFY in the commit is not used: PostgreSQL lets transactions with NOTIFY
 * commit only one after another, which reduced 32 writers from 14,300 to 4,000 commits a second.
 */
import { type CacheTime, cacheKey } from '../../shared/platform/cache/cache.ts'
import type { Systems } from '../../shared/platform/systems/systems.ts'

interface WakeUpOptions {
  /** The id of this instance, when it is known: several instances may share one Redis. */
  instanceId(): string | undefined
  /** Called when there may be new events. */
  onWakeUp(): void
  /** Pause between two messages, in milliseconds. Events that are written while it lasts share one message. */
  readonly pauseMs: number
}

const channel = cacheKey('deal-events')
/** A late wake-up does no harm, so the cache time is not read for each message. */
const maxAgeMs = 60_000

/** Sends and receives the wake-ups of one process. */
export class WakeUps {
  readonly #systems: Systems
  readonly #options: WakeUpOptions
  readonly #sender: string
  #time: CacheTime | undefined
  #isSending = false
  #isDue = false
  #unsubscribe: (() => Promise<void>) | undefined

  constructor(systems: Systems, options: WakeUpOptions) {
    this.#systems = systems
    this.#options = options
    this.#sender = systems.ids.uuid()
  }

  async start(): Promise<void> {
    this.#unsubscribe = await this.#systems.cache.subscribe(channel, (message) => this.#onMessage(message))
  }

  async stop(): Promise<void> {
    await this.#unsubscribe?.()
  }

  /** Reports that this process wrote events: wakes its own reader at once, and all others soon. Never fails. */
  send(): void {
    this.#options.onWakeUp()
    this.#isDue = true
    if (!this.#isSending) void this.#sendAll()
  }

  #onMessage(message: string): void {
    const [instanceId, sender] = message.split(' ')
    if (sender === this.#sender || instanceId !== String(this.#options.instanceId())) return
    this.#options.onWakeUp()
  }

  async #sendAll(): Promise<void> {
    this.#isSending = true
    while (this.#isDue) {
      this.#isDue = false
      await this.#publish().catch(() => undefined) // readers also read at an interval
      await new Promise((resolve) => setTimeout(resolve, this.#options.pauseMs).unref())
    }
    this.#isSending = false
  }

  async #publish(): Promise<void> {
    if (this.#time !== undefined && (await this.#publishSince(this.#time))) return
    this.#time = await this.#systems.cache.time()
    await this.#publishSince(this.#time)
  }

  #publishSince(since: CacheTime): Promise<boolean> {
    return this.#systems.cache.publish(channel, `${this.#options.instanceId()} ${this.#sender}`, { since, maxAgeMs })
  }
}
