/** What this server did for one webhook and has not stored yet, and the lease that storing it prolongs. */
import { rfc3339 } from '../../shared/platform/clock.ts'
import type { Place } from '../events/position.ts'
import type { BlockedDeals } from './blocked-deals.ts'
import type { WebhookOptions } from './options.ts'
import type { Attempt, LoadedWebhook, PauseReason, Webhook, WebhookHealth } from './ports.ts'
import type { WebhookSystems } from './webhook-systems.ts'

/** At most this many attempts are stored at once; the oldest are left out. */
const maxAttempts = 100
/** How often a position is stored that moved without any attempt, in milliseconds. */
const positionAfterMs = 2_000

type Mutable<Type> = { -readonly [Member in keyof Type]: Type[Member] }

/** The progress of one webhook. */
export class Progress {
  readonly #systems: WebhookSystems
  readonly #options: WebhookOptions
  readonly #webhook: Webhook
  readonly #begin: Place
  readonly #blocked: BlockedDeals
  readonly health: Mutable<WebhookHealth>
  /** Every event up to this one was delivered, left out, or waits in a blocked deal. */
  position: number
  #storedPosition: number
  #attempts: Attempt[] = []
  #saving: Promise<void> = Promise.resolve()
  #leaseUntil: number
  #storedAt: number
  #isLost = false

  constructor(
    systems: WebhookSystems,
    options: WebhookOptions,
    of: { loaded: LoadedWebhook; blocked: BlockedDeals; leaseUntil: number },
  ) {
    const { webhook, place } = of.loaded
    this.#systems = systems
    this.#options = options
    this.#webhook = webhook
    this.#begin = place
    this.#blocked = of.blocked
    this.health = { ...webhook.health }
    this.position = place.position
    this.#storedPosition = place.position
    this.#leaseUntil = of.leaseUntil
    this.#storedAt = systems.clock.monotonic()
  }

  /** True while no other server may send events of this webhook. */
  get isHeld(): boolean {
    return !this.#isLost && this.#systems.clock.monotonic() < this.#leaseUntil
  }

  /** True when another server has the webhook, or a client changed it. */
  get isLost(): boolean {
    return this.#isLost
  }

  /** Stores nothing more. */
  abandon(): void {
    this.#isLost = true
  }

  /** The lease was prolonged until then, on the monotonic clock. */
  prolong(until: number): void {
    this.#leaseUntil = Math.max(this.#leaseUntil, until)
  }

  /** Notes an attempt. */
  note(attempt: Attempt): void {
    this.#attempts.push(attempt)
    if (this.#attempts.length > maxAttempts) this.#attempts.shift()
    const { health } = this
    if (attempt.outcome === 'delivered') {
      health.failures = 0
      health.lastSuccessAt = attempt.at
    } else {
      health.failures += 1
      health.lastFailureAt = attempt.at
      health.lastFailureStatus = attempt.status
      health.lastFailureReason = attempt.reason
    }
  }

  /** Stores what must be stored now. A position alone can wait. @throws Unavailable */
  async saveIfDue(): Promise<void> {
    const isLate = this.#systems.clock.monotonic() - this.#storedAt >= positionAfterMs
    const hasMoved = this.position !== this.#storedPosition
    if (this.#attempts.length > 0 || this.#blocked.hasChanges || (hasMoved && isLate)) await this.save()
  }

  /** Stores everything, after what is being stored now. @throws Unavailable */
  save(pausedReason?: PauseReason): Promise<void> {
    this.#saving = this.#saving.catch(() => undefined).then(() => this.#save(pausedReason))
    return this.#saving
  }

  async #save(pausedReason: PauseReason | null = null): Promise<void> {
    if (this.#isLost) return
    const { work, clock } = this.#systems
    const { owner, leaseMs } = this.#options
    const { id, revision } = this.#webhook
    const { blocked, unblocked, putBack } = this.#blocked.takeChanges()
    const attempts = this.#attempts
    this.#attempts = []
    const sentAt = clock.monotonic()
    const { position } = this
    const pausedAt = pausedReason && rfc3339(clock.now())
    const part = {
      place: { position, history: this.#begin.history },
      health: { ...this.health },
      pausedReason,
      pausedAt,
      blocked,
      unblocked,
      attempts,
    }
    try {
      this.#isLost = !(await work.save({ id, owner, revision, leaseMs, ...part }))
    } catch (error) {
      putBack()
      this.#attempts = [...attempts, ...this.#attempts].slice(-maxAttempts)
      throw error
    }
    this.#storedAt = clock.monotonic()
    this.#storedPosition = position
    this.prolong(sentAt + leaseMs)
  }
}
