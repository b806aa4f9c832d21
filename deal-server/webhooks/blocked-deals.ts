/**
 * The deals of one webhook whose events wait: behind an event that the receiver did not take, or because the server had
 * to stop in the middle of a page. Later events of such a deal wait too, in the events table, so that its order stays.
 */
import type { LoggedEvent } from '../events/event-log.ts'
import type { BlockedDeal } from './ports.ts'

/** A deal that waits, while this server works on it. */
export interface WaitingDeal extends BlockedDeal {
  sequence: number
  /** Failed attempts of the event; 0 when it was not tried. */
  attempts: number
  nextAttemptAt: number
  since: string
  /** True while its events are being sent. */
  isRunning: boolean
  /** True when the log had another event of this deal since its events were last read. */
  hasMore: boolean
}

/** When the next event of a deal is tried, and how often it was. */
export type NextAttempt = Pick<WaitingDeal, 'attempts' | 'nextAttemptAt'>

/** The deals that wait, and what of that is not stored yet. */
export class BlockedDeals {
  readonly #deals = new Map<string, WaitingDeal>()
  #changed = new Set<string>()

  constructor(stored: readonly BlockedDeal[]) {
    for (const one of stored) this.#deals.set(one.dealId, { ...one, isRunning: false, hasMore: true })
  }

  get size(): number {
    return this.#deals.size
  }

  get hasChanges(): boolean {
    return this.#changed.size > 0
  }

  /** True for a deal that waits: its next event in the log waits with it. */
  takes(dealId: string): boolean {
    const deal = this.#deals.get(dealId)
    if (deal) deal.hasMore = true
    return deal !== undefined
  }

  /** Lets a deal wait from this event on. */
  add({ dealId, sequence, occurredAt }: LoggedEvent, next: NextAttempt): void {
    this.#deals.set(dealId, { dealId, sequence, since: occurredAt, ...next, isRunning: false, hasMore: true })
    this.#changed.add(dealId)
  }

  /** Notes that a deal was changed. */
  touch({ dealId }: WaitingDeal): void {
    this.#changed.add(dealId)
  }

  /** The deal waits no more. */
  free({ dealId }: WaitingDeal): void {
    this.#deals.delete(dealId)
    this.#changed.add(dealId)
  }

  /** The receiver takes events again: every deal is tried now, and its attempts count from zero. */
  retryAll(now: number): void {
    for (const deal of this.#deals.values()) {
      if (deal.isRunning) continue
      deal.attempts = 0
      deal.nextAttemptAt = now
      this.touch(deal)
    }
  }

  /**
   * The deals that are due and not being sent, the longest overdue first. While the receiver seems to be down
   * (`probing`), only those that it has refused: the others wait for it to come back.
   */
  due(now: number, probing: boolean): WaitingDeal[] {
    return this.#candidates(probing)
      .filter(({ nextAttemptAt, isRunning }) => !isRunning && nextAttemptAt <= now)
      .sort((a, b) => a.nextAttemptAt - b.nextAttemptAt)
  }

  /** Milliseconds until the next deal is due; infinite without one. */
  nextIn(now: number, probing: boolean): number {
    const times = this.#candidates(probing).flatMap(({ nextAttemptAt, isRunning }) => (isRunning ? [] : nextAttemptAt))
    return Math.max(0, Math.min(...times) - now)
  }

  #candidates(probing: boolean): WaitingDeal[] {
    const all = [...this.#deals.values()]
    const refused = probing ? all.filter(({ attempts }) => attempts > 0) : []
    return refused.length > 0 ? refused : all
  }

  /** When the oldest waiting event happened (RFC 3339). */
  oldest(): string | undefined {
    let oldest: string | undefined
    for (const { since } of this.#deals.values()) if (oldest === undefined || since < oldest) oldest = since
    return oldest
  }

  /** What has changed since the last call. `putBack` undoes the call, for a store that did not answer. */
  takeChanges() {
    const taken = this.#changed
    this.#changed = new Set()
    const blocked: BlockedDeal[] = []
    const unblocked: string[] = []
    for (const dealId of taken) {
      const deal = this.#deals.get(dealId)
      if (deal) blocked.push(storedFormOf(deal))
      else unblocked.push(dealId)
    }
    const putBack = () => {
      for (const dealId of taken) this.#changed.add(dealId)
    }
    return { blocked, unblocked, putBack }
  }
}

const storedFormOf = ({ dealId, sequence, attempts, nextAttemptAt, since }: WaitingDeal): BlockedDeal => ({
  dealId,
  sequence,
  attempts,
  nextAttemptAt,
  since,
})
