/**
 * The attempts of one webhook: whether one may begin, what the responsible user may see, and what an outcome means for
 * the webhook. When the last attempts all failed, the receiver seems to be down (docs/webhooks.md#retries).
 */
import { setMaxListeners } from 'node:events'
import { rfc3339 } from '../../shared/platform/clock.ts'
import { Unavailable } from '../../shared/platform/problems/errors.ts'
import type { Sight } from '../domain/sight.ts'
import type { LoggedEvent } from '../events/event-log.ts'
import { seenBy } from '../events/own-events.ts'
import { pauseAfter } from './back-off.ts'
import { BlockedDeals, type NextAttempt } from './blocked-deals.ts'
import type { Delivered } from './deliver.ts'
import type { WebhookOptions } from './options.ts'
import type { LoadedWebhook, PauseReason, Webhook } from './ports.ts'
import { Progress } from './progress.ts'
import { standingOf } from './responsible.ts'
import type { WebhookSystems } from './webhook-systems.ts'

/** How long a sender waits after an outage of the database or of the principal records, in milliseconds. */
export const outagePauseMs = 500

/** The attempts of one webhook, and what it knows of its receiver and of the deals that wait. */
export class Attempts {
  readonly webhook: Webhook
  readonly blocked: BlockedDeals
  readonly progress: Progress
  readonly #systems: WebhookSystems
  readonly #options: WebhookOptions
  readonly #abort = new AbortController()
  #pause: PauseReason | undefined
  #isStopping = false

  constructor(systems: WebhookSystems, options: WebhookOptions, of: { loaded: LoadedWebhook; leaseUntil: number }) {
    this.webhook = of.loaded.webhook
    this.blocked = new BlockedDeals(of.loaded.blocked)
    this.progress = new Progress(systems, options, { ...of, blocked: this.blocked })
    this.#systems = systems
    this.#options = options
    // Every request under way listens; they are bounded by the permits.
    setMaxListeners(0, this.#abort.signal)
  }

  /** Why the webhook is paused; undefined while it is not. */
  get pause(): PauseReason | undefined {
    return this.#pause
  }

  /** True when nothing more is sent: the sender stops, or the webhook is paused, lost, or must be loaded again. */
  get hasEnded(): boolean {
    return this.#isStopping || this.#pause !== undefined || this.progress.isLost
  }

  /** True while the receiver wants no request. */
  get isHeldOff(): boolean {
    const { heldUntil } = this.progress.health
    return heldUntil !== null && Date.parse(heldUntil) > this.#systems.clock.now()
  }

  /** True while the receiver seems to be down. */
  get isDown(): boolean {
    return this.progress.health.failures >= this.#options.downAfter && this.blocked.size > 0
  }

  /** Begins nothing more. */
  stop(): void {
    this.#isStopping = true
  }

  /** Ends the requests under way. */
  abort(): void {
    this.#abort.abort()
  }

  /** What the responsible user may see; undefined when that cannot be known, or when the webhook is paused for it. */
  async standing(): Promise<Sight | undefined> {
    const standing = await standingOf(this.#systems, this.webhook.responsible)
    if (standing && 'pause' in standing) {
      this.#pause = standing.pause
      return undefined
    }
    return standing
  }

  /** The event as the responsible user sees it; undefined when it is not to be sent. */
  wanted(event: LoggedEvent, standing: Sight): LoggedEvent | undefined {
    const { types, deals } = this.webhook
    if (deals.length > 0 && !deals.includes(event.dealId)) return undefined
    const seen = seenBy(standing, event)
    const isNotice = seen !== event
    return isNotice || types.length === 0 || types.includes(event.type) ? seen : undefined
  }

  /** Sends an event once, and notes what happened to it. Undefined when nothing may be sent now. */
  async send(event: LoggedEvent, attempt: number): Promise<Delivered | undefined> {
    const { permits, deliver, represent, onAttempt, clock } = this.#systems
    const sent = await permits.run(async () => {
      if (this.hasEnded || !this.progress.isHeld || !(await this.standing())) return undefined
      const { id: eventId, type, dealId, occurredAt: timestamp } = event
      const delivery = { eventId, type, dealId, timestamp, data: represent(event), attempt }
      const delivered = await deliver(this.webhook, { delivery, signal: this.#abort.signal })
      if (!delivered) this.#pause ??= 'secret-unreadable'
      return delivered
    })
    if (!sent || sent.isAborted) return undefined
    const wasDown = this.isDown
    this.progress.note(sent.attempt)
    onAttempt(sent.attempt)
    if (sent.isGone) this.#pause ??= 'gone'
    if (sent.attempt.outcome === 'failed') this.#holdOff(sent)
    else {
      this.progress.health.heldUntil = null
      if (wasDown) this.blocked.retryAll(clock.now())
    }
    return sent
  }

  /** A receiver that is overloaded says so for all deals. */
  #holdOff({ attempt: { status }, retryAfterMs }: Delivered): void {
    if (retryAfterMs === undefined || (status !== 429 && status !== 503)) return
    this.progress.health.heldUntil = rfc3339(this.#systems.clock.now() + retryAfterMs)
  }

  /** When an event of this deal is tried again, after `attempts` failures. Pauses the webhook when none is left. */
  next(dealId: string, attempts: number, retryAfterMs: number | undefined): NextAttempt {
    const { clock, random, log } = this.#systems
    const now = clock.now()
    if (attempts === 0) return { attempts, nextAttemptAt: now }
    const pauseMs = pauseAfter({ attempts, retryAfterMs, random: random() }, this.#options.retriesMs)
    if (pauseMs !== undefined) return { attempts, nextAttemptAt: now + pauseMs }
    log.warn({ webhook: this.webhook.id, dealId, attempts }, 'Webhook paused: its receiver never accepted an event')
    this.#pause ??= 'failing'
    return { attempts: 0, nextAttemptAt: now }
  }

  /** Logs an error that is no outage. Answers how long to wait then, in milliseconds. */
  onError(err: unknown): number {
    if (!(err instanceof Unavailable)) this.#systems.log.warn({ err, webhook: this.webhook.id }, 'A webhook failed')
    return outagePauseMs
  }
}
