/** What this server did for one webhook and has not stored yet, and the lease that storing it prolongs. */
import { type Clock, rfc3339 } from '../../shared/platform/clock.ts'
import type { Place } from '../events/position.ts'
import type { BlockedDeals } from './blocked-deals.ts'
import type { Attempt, LoadedWebhook, PauseReason, WebhookHealth, WebhookWork } from './ports.ts'

/** At most this many attempts are stored at once; the oldest are left out. */
const maxAttempts = 100

/** The parts that progress uses. */
export interface ProgressPorts {
  readonly work: Pick<WebhookWork, 'save'>
  readonly clock: Clock
  readonly owner: string
  readonly leaseMs: number
}

type Mutable<Type> = { -readonly [Member in keyof Type]: Type[Member] }

/** The progress of one webhook. */
export class Progress {
  readonly #ports: ProgressPorts
  readonly #id: string
  readonly #revision: number
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
    ports: ProgressPorts,
    { webhook, place }: LoadedWebhook,
    of: { blocked: BlockedDeals; leaseUntil: number },
  ) {
    this.#ports = ports
    this.#id = webhook.id
    this.#revision = webhook.revision
    this.#begin = place
    this.#blocked = of.blocked
    this.health = { ...webhook.health }
    this.position = place.position
    this.#storedPosition = place.position
    this.#leaseUntil = of.leaseUntil
    this.#storedAt = ports.clock.monotonic()
  }

  /** True while no other server may send events of this webhook. */
  get isHeld(): boolean {
    return !this.#isLost && this.#ports.clock.monotonic() < this.#leaseUntil
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

  /** True when something must be stored now. A position alone can wait, until `positionAfterMs` after the last time. */
  isDue(positionAfterMs: number): boolean {
    if (this.#attempts.length > 0 || this.#blocked.hasChanges) return true
    const waitedMs = this.#ports.clock.monotonic() - this.#storedAt
    return this.position !== this.#storedPosition && waitedMs >= positionAfterMs
  }

  /** Stores everything, after what is being stored now. @throws Unavailable */
  save(pausedReason: PauseReason | null = null): Promise<void> {
    this.#saving = this.#saving.catch(() => undefined).then(() => this.#save(pausedReason))
    return this.#saving
  }

  async #save(pausedReason: PauseReason | null): Promise<void> {
    if (this.#isLost) return
    const { work, clock, owner, leaseMs } = this.#ports
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
      this.#isLost = !(await work.save({ id: this.#id, owner, revision: this.#revision, leaseMs, ...part }))
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
