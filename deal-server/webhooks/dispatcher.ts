/**
 * Which webhooks this server works for. A server takes free webhooks by a lease in the database, and one server has a
 * webhook at a time. When a server dies, its lease ends and another server goes on from what was stored.
 */

import { Unavailable } from '../../shared/platform/problems/errors.ts'
import type { WebhookOptions } from './options.ts'
import type { WebhookHead } from './ports.ts'
import { reportPauses } from './report-pauses.ts'
import { loadWithGenerations } from './responsible.ts'
import { WebhookSender } from './sender.ts'
import type { WebhookSystems } from './webhook-systems.ts'

/** Before this time the server that paused a webhook reports it itself, in milliseconds. */
const reportedLateMs = 60_000

/** The figures of webhooks, for metrics. */
export interface WebhooksHealth {
  readonly active: number
  readonly paused: number
  /** The age of the oldest event that this server has still to deliver, in milliseconds. */
  readonly lagMs: number
}

/** The work of one server for webhooks. */
export class Dispatcher {
  readonly #systems: WebhookSystems
  readonly #options: WebhookOptions
  readonly #senders = new Map<string, WebhookSender>()
  #timer: NodeJS.Timeout | undefined
  #looking: Promise<void> | undefined
  #isDue = false
  #isStopping = false
  #renewedAt = Number.NEGATIVE_INFINITY
  #counts = { active: 0, paused: 0 }

  constructor(systems: WebhookSystems, options: WebhookOptions) {
    this.#systems = systems
    this.#options = options
  }

  start(): void {
    void this.look()
    this.#timer = setInterval(() => this.#tick(), this.#options.lookMs)
  }

  /** Ends, and leaves the webhooks to others. */
  async stop(): Promise<void> {
    this.#isStopping = true
    clearInterval(this.#timer)
    await this.#looking
    await Promise.all([...this.#senders.values()].map((sender) => sender.stop(this.#options.stopGraceMs)))
    if (this.#senders.size > 0) await this.#orLog(this.#systems.work.release(this.#options.owner))
    this.#senders.clear()
  }

  /** There may be new events. */
  wakeUp(): void {
    for (const sender of this.#senders.values()) sender.wake()
  }

  health(): WebhooksHealth {
    const now = this.#systems.clock.now()
    const ages = [...this.#senders.values()].flatMap(({ oldestWaiting }) =>
      oldestWaiting === undefined ? [] : now - Date.parse(oldestWaiting),
    )
    return { ...this.#counts, lagMs: Math.max(0, ...ages) }
  }

  /** Looks for webhooks that are new, free or changed, now. Never fails. */
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
      if (!(err instanceof Unavailable)) this.#systems.log.warn({ err }, 'Webhooks could not be looked at')
    }
  }

  async #lookOnce(): Promise<void> {
    const { active, paused, isReportMissing } = await this.#systems.work.heads()
    this.#counts = { active: active.length, paused }
    await this.#endOthers(active)
    await this.#renew()
    await this.#begin(active)
    if (isReportMissing) void reportPauses(this.#systems, reportedLateMs)
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
    const { work, clock } = this.#systems
    const { owner, leaseMs, renewMs } = this.#options
    const now = clock.monotonic()
    if (this.#senders.size === 0 || now - this.#renewedAt < renewMs) return
    for (const id of await work.renew(owner, leaseMs)) this.#senders.get(id)?.prolong(now + leaseMs)
    this.#renewedAt = now
  }

  /** Begins to work for free webhooks, and again for those that were changed. */
  async #begin(active: readonly WebhookHead[]): Promise<void> {
    const { work, clock } = this.#systems
    const { owner, leaseMs } = this.#options
    const leaseUntil = clock.monotonic() + leaseMs
    const claimed = active.some(({ isFree }) => isFree) ? await work.claim(owner, leaseMs) : []
    const own = active.filter((head) => head.owner === owner && !head.isFree).map(({ id }) => id)
    const left = own.filter((id) => !this.#senders.has(id))
    const renewed = left.length > 0 ? await work.renew(owner, leaseMs) : []
    const ids = [...new Set([...claimed, ...renewed])].filter((id) => !this.#senders.has(id))
    if (ids.length === 0) return
    for (const loaded of await loadWithGenerations(this.#systems, owner, ids)) {
      if (this.#isStopping) return
      const sender = new WebhookSender(this.#systems, this.#options, { loaded, leaseUntil })
      this.#senders.set(loaded.webhook.id, sender)
      sender.start()
    }
  }
}
