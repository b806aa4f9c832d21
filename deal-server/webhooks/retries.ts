/** Sends again what waits in the deals of one webhook, as far as it is due. */
import { Unavailable } from '../../shared/platform/problems/errors.ts'
import type { Sight } from '../domain/sight.ts'
import type { LoggedEvent } from '../events/event-log.ts'
import type { Place } from '../events/position.ts'
import { type Attempts, outagePauseMs } from './attempts.ts'
import type { WaitingDeal } from './blocked-deals.ts'
import type { WebhookOptions } from './options.ts'
import type { WebhookSystems } from './webhook-systems.ts'

/** The shortest pause before a retry, in milliseconds: other work of the process goes on. */
const shortestPauseMs = 5
const waitingLimit = 50

/** The retries of one webhook. */
export class Retries {
  /** Events after this place do not wait: they are read from the log. */
  upTo: Place
  readonly #systems: WebhookSystems
  readonly #options: WebhookOptions
  readonly #attempts: Attempts
  readonly #onEnd: () => void
  readonly #running = new Set<Promise<void>>()

  /** Calls `onEnd` whenever a deal was tried. */
  constructor(
    systems: WebhookSystems,
    options: WebhookOptions,
    of: { attempts: Attempts; upTo: Place; onEnd(): void },
  ) {
    this.#systems = systems
    this.#options = options
    this.#attempts = of.attempts
    this.#onEnd = of.onEnd
    this.upTo = of.upTo
  }

  /** Begins those that are due, as far as there is room. */
  begin(): void {
    const { blocked, isDown } = this.#attempts
    const free = this.#room()
    if (free <= 0) return
    for (const deal of blocked.due(this.#systems.clock.now(), isDown).slice(0, free)) {
      deal.isRunning = true
      const task = this.#retry(deal)
        .catch((err: unknown) => {
          deal.nextAttemptAt = this.#systems.clock.now() + this.#attempts.onError(err)
        })
        .finally(() => {
          deal.isRunning = false
          this.#running.delete(task)
          this.#onEnd()
        })
      this.#running.add(task)
    }
  }

  /** When the next one can begin, in milliseconds. */
  nextInMs(): number {
    const { pollMs } = this.#options
    if (this.#room() <= 0) return pollMs
    const dueInMs = this.#attempts.blocked.nextIn(this.#systems.clock.now(), this.#attempts.isDown)
    return Math.min(pollMs, Math.max(shortestPauseMs, dueInMs))
  }

  /** Waits for those under way. */
  async settle(): Promise<void> {
    await Promise.all(this.#running)
  }

  /** How many deals may begin. While the receiver seems to be down, one of them tries. */
  #room(): number {
    return (this.#attempts.isDown ? 1 : this.#options.concurrency) - this.#running.size
  }

  /** Sends the events of a deal that waits, until one fails or none is left. @throws Unavailable */
  async #retry(deal: WaitingDeal): Promise<void> {
    const { blocked, progress } = this.#attempts
    for (;;) {
      const standing = await this.#attempts.standing()
      if (!standing) throw new Unavailable('principals')
      deal.hasMore = false
      const events = await this.#systems.work.waiting({
        dealId: deal.dealId,
        sequence: deal.sequence,
        upTo: this.upTo,
        limit: waitingLimit,
        hidesDeleted: standing.deleted !== 'all',
      })
      for (const event of events) if (!(await this.#retryEvent(deal, event, standing))) return progress.saveIfDue()
      if (events.length > 0) continue
      if (!deal.hasMore) break
    }
    blocked.free(deal)
    await progress.saveIfDue()
  }

  /** True when the next event of the deal may follow. */
  async #retryEvent(deal: WaitingDeal, read: LoggedEvent, standing: Sight): Promise<boolean> {
    const attempts = this.#attempts
    deal.since = read.occurredAt
    const event = attempts.wanted(read, standing)
    if (event) {
      const sent = attempts.hasEnded || attempts.isHeldOff ? undefined : await attempts.send(event, deal.attempts + 1)
      if (!sent) {
        deal.nextAttemptAt = this.#systems.clock.now() + outagePauseMs
        return false
      }
      if (sent.attempt.outcome === 'failed') {
        deal.sequence = event.sequence
        Object.assign(deal, attempts.next(deal.dealId, deal.attempts + 1, sent.retryAfterMs))
        attempts.blocked.touch(deal)
        return false
      }
    }
    deal.sequence = read.sequence + 1
    deal.attempts = 0
    attempts.blocked.touch(deal)
    return true
  }
}
