/**
 * Which webhooks this server works for. A server takes free webhooks by a lease in the database, and one server has a
 * webhook at a time. When a server dies, its lease ends and another server goes on from what was stored.
 */

import type { Clock } from '../../shared/platform/clock.ts'
import { Permits } from '../../shared/platform/concurrency/permits.ts'
import type { Log } from '../../shared/platform/log/log.ts'
import { Unavailable } from '../../shared/platform/problems/errors.ts'
import { createSharedReads } from '../events/shared-reads.ts'
import { standardRetriesMs } from './back-off.ts'
import type { WebhookHead, WebhookWork } from './ports.ts'
import { type SenderOptions, type SenderPorts, WebhookSender } from './sender.ts'

/** The parts that the dispatcher uses. */
export interface DispatcherPorts extends Omit<SenderPorts, 'permits' | 'work'> {
  readonly work: WebhookWork
  readonly clock: Clock
  readonly logger: Pick<Log, 'warn' | 'info'>
  /** Called when the report of an earlier pause is missing. */
  readonly onMissingReport: () => void
}

/** Times and sizes; times in milliseconds. */
export interface DispatcherOptions extends SenderOptions {
  /** How often this server looks for webhooks that are new, free or changed. */
  readonly lookMs: number
  /** How often it renews its leases. */
  readonly renewMs: number
  /** Requests of all webhooks at once. */
  readonly maxRequests: number
  /** How long requests under way have when the server stops. */
  readonly stopGraceMs: number
}

/** The defaults; `owner` has none. */
export const dispatcherDefaults: Omit<DispatcherOptions, 'owner'> = {
  leaseMs: 6_000,
  renewMs: 2_000,
  lookMs: 1_000,
  pollMs: 1_000,
  stopGraceMs: 2_000,
  pageSize: 200,
  concurrency: 8,
  maxRequests: 32,
  maxBlocked: 1_000,
  downAfter: 10,
  retriesMs: standardRetriesMs,
}

/** The figures of webhooks, for metrics. */
export interface WebhooksHealth {
  readonly active: number
  readonly paused: number
  /** The age of the oldest event that this server has still to deliver, in milliseconds. */
  readonly lagMs: number
}

/** The work of one server for webhooks. */
export interface Dispatcher {
  start(): void
  /** Ends, and leaves the webhooks to others. */
  stop(): Promise<void>
  /** There may be new events. */
  wakeUp(): void
  /** Looks for webhooks that are new, free or changed, now. Never fails. */
  look(): Promise<void>
  health(): WebhooksHealth
}

/** Makes the dispatcher of one server. */
export const createDispatcher = (ports: DispatcherPorts, options: DispatcherOptions): Dispatcher =>
  new WebhookDispatcher(ports, options)

class WebhookDispatcher implements Dispatcher {
  readonly #ports: DispatcherPorts
  readonly #options: DispatcherOptions
  readonly #senderPorts: SenderPorts
  readonly #senders = new Map<string, WebhookSender>()
  #timer: NodeJS.Timeout | undefined
  #looking: Promise<void> | undefined
  #isDue = false
  #isStopping = false
  #renewedAt = Number.NEGATIVE_INFINITY
  #counts = { active: 0, paused: 0 }

  constructor(ports: DispatcherPorts, options: DispatcherOptions) {
    this.#ports = ports
    this.#options = options
    const permits = new Permits(options.maxRequests)
    this.#senderPorts = { ...ports, log: createSharedReads(ports.log), permits }
  }

  start(): void {
    void this.look()
    this.#timer = setInterval(() => this.#tick(), this.#options.lookMs)
  }

  async stop(): Promise<void> {
    this.#isStopping = true
    clearInterval(this.#timer)
    await this.#looking
    await Promise.all([...this.#senders.values()].map((sender) => sender.stop(this.#options.stopGraceMs)))
    if (this.#senders.size > 0) await this.#orLog(this.#ports.work.release(this.#options.owner))
    this.#senders.clear()
  }

  wakeUp(): void {
    for (const sender of this.#senders.values()) sender.wake()
  }

  health(): WebhooksHealth {
    const now = this.#ports.clock.now()
    const ages = [...this.#senders.values()].flatMap(({ oldestWaiting }) =>
      oldestWaiting === undefined ? [] : now - Date.parse(oldestWaiting),
    )
    return { ...this.#counts, lagMs: Math.max(0, ...ages) }
  }

  look(): Promise<void> {
    this.#isDue = true
    this.#looking ??= this.#lookAll().finally(() => {
      this.#looking = undefined
    })
    return this.#looking
  }

  #tick(): void {
    void this.look()
    // Rights are looked at too, so that a webhook is paused soon after they are gone.
    this.wakeUp()
  }

  async #lookAll(): Promise<void> {
    while (this.#isDue && !this.#isStopping) {
      this.#isDue = false
      await this.#orLog(this.#lookOnce())
    }
  }

  async #orLog(work: Promise<void>): Promise<void> {
    try {
      await work
    } catch (err) {
      if (!(err instanceof Unavailable)) this.#ports.logger.warn({ err }, 'Webhooks could not be looked at')
    }
  }

  async #lookOnce(): Promise<void> {
    const { work, onMissingReport } = this.#ports
    const { active, paused, isReportMissing } = await work.heads()
    this.#counts = { active: active.length, paused }
    await this.#endOthers(active)
    await this.#renew()
    await this.#begin(active)
    if (isReportMissing) onMissingReport()
  }

  /** Ends the work for webhooks that are paused, removed or changed, or that another server has. */
  async #endOthers(active: readonly WebhookHead[]): Promise<void> {
    const heads = new Map(active.map((head) => [head.id, head]))
    const ended = [...this.#senders].filter(([id, sender]) => {
      const head = heads.get(id)
      const isMine = head?.owner === this.#options.owner && head.revision === sender.webhook.revision
      return sender.hasEnded || !isMine
    })
    await Promise.all(
      ended.map(async ([id, sender]) => {
        await sender.stop(0)
        this.#senders.delete(id)
      }),
    )
  }

  async #renew(): Promise<void> {
    const { work, clock } = this.#ports
    const { owner, leaseMs, renewMs } = this.#options
    const now = clock.monotonic()
    if (this.#senders.size === 0 || now - this.#renewedAt < renewMs) return
    for (const id of await work.renew(owner, leaseMs)) this.#senders.get(id)?.prolong(now + leaseMs)
    this.#renewedAt = now
  }

  /** Begins to work for free webhooks, and again for those that were changed. */
  async #begin(active: readonly WebhookHead[]): Promise<void> {
    const { work, clock } = this.#ports
    const { owner, leaseMs } = this.#options
    const leaseUntil = clock.monotonic() + leaseMs
    const claimed = active.some(({ isFree }) => isFree) ? await work.claim(owner, leaseMs) : []
    const own = active.filter((head) => head.owner === owner && !head.isFree).map(({ id }) => id)
    const left = own.filter((id) => !this.#senders.has(id))
    const renewed = left.length > 0 ? await work.renew(owner, leaseMs) : []
    const ids = [...new Set([...claimed, ...renewed])].filter((id) => !this.#senders.has(id))
    if (ids.length === 0) return
    for (const loaded of await work.load(owner, ids)) {
      if (this.#isStopping) return
      const sender = new WebhookSender(this.#senderPorts, this.#options, { loaded, leaseUntil })
      this.#senders.set(loaded.webhook.id, sender)
      sender.start()
    }
  }
}
