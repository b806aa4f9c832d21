/**
 * WakeUps: "there may be new events", said among deal servers through the cache. A lost one delays, and loses nothing: readers look now
 * and then anyway. Not by NOTIFY in the commit: PostgreSQL lets transactions that notify commit one after another, which took
 * 32 writers from 14,300 to 4,000 commits a second.
 */
import type { Cache, CacheTime } from '../../shared/platform/cache/cache.ts'
import type { IdSource } from '../../shared/platform/ids.ts'

export interface WakeUpPorts {
  readonly cache: Pick<Cache, 'moment' | 'publish' | 'subscribe'>
  readonly ids: Pick<IdSource, 'uuid'>
  /** Several instances may share one Redis: the id of this one, when it is known. */
  instanceId(): string | undefined
  /** There may be new events. */
  onWakeUp(): void
}

export interface WakeUps {
  /** This process has written events: tells its own readers at once, all others soon. Never fails. */
  send(): void
  start(): Promise<void>
  stop(): Promise<void>
}

const channel = '{keyhold}:deal-events'
/** What is written meanwhile goes into one wakeUp. */
const pauseMs = 5
/** A wakeUp that comes late does no harm, so the cache need not be asked for the moment each time. */
const maxAgeMs = 60_000

/** The wakeUps of one process. */
export const createWakeUps = (ports: WakeUpPorts): WakeUps => new CacheWakeUps(ports)

class CacheWakeUps implements WakeUps {
  readonly #ports: WakeUpPorts
  readonly #sender: string
  #moment: CacheTime | undefined
  #isSending = false
  #isDue = false
  #unsubscribe: (() => Promise<void>) | undefined

  constructor(ports: WakeUpPorts) {
    this.#ports = ports
    this.#sender = ports.ids.uuid()
  }

  async start(): Promise<void> {
    this.#unsubscribe = await this.#ports.cache.subscribe(channel, (message) => this.#hear(message))
  }

  async stop(): Promise<void> {
    await this.#unsubscribe?.()
  }

  send(): void {
    this.#ports.onWakeUp()
    this.#isDue = true
    if (!this.#isSending) void this.#sendAll()
  }

  #hear(message: string): void {
    const [instanceId, sender] = message.split(' ')
    if (sender === this.#sender || instanceId !== String(this.#ports.instanceId())) return
    this.#ports.onWakeUp()
  }

  async #sendAll(): Promise<void> {
    this.#isSending = true
    while (this.#isDue) {
      this.#isDue = false
      await this.#publish().catch(() => undefined) // readers find out by themselves
      await new Promise((resolve) => setTimeout(resolve, pauseMs).unref())
    }
    this.#isSending = false
  }

  async #publish(): Promise<void> {
    if (this.#moment !== undefined && (await this.#publishSince(this.#moment))) return
    this.#moment = await this.#ports.cache.moment()
    await this.#publishSince(this.#moment)
  }

  #publishSince(since: CacheTime): Promise<boolean> {
    const { cache, instanceId } = this.#ports
    return cache.publish(channel, `${instanceId()} ${this.#sender}`, { since, maxAgeMs })
  }
}
