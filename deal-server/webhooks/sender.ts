/**
 * Sends the events of one webhook: in the order of each deal, at least once, several deals side by side. It reads the
 * log page by page. A deal whose event fails waits and is tried again by the schedule, and the others go on. When the
 * last attempts all failed, the receiver seems to be down: then no new deal begins, and only deals that failed are
 * tried, until one succeeds (docs/webhooks.md#retries).
 */
import { setMaxListeners } from 'node:events'
import type { Clock } from '../../shared/platform/clock.ts'
import type { Permits } from '../../shared/platform/concurrency/permits.ts'
import { Signal } from '../../shared/platform/concurrency/signal.ts'
import type { Log } from '../../shared/platform/log/log.ts'
import { Unavailable } from '../../shared/platform/problems/errors.ts'
import type { Sight } from '../domain/sight.ts'
import type { EventLog, EventPage, LoggedEvent } from '../events/event-log.ts'
import { seenBy } from '../events/own-events.ts'
import type { Place } from '../events/position.ts'
import { pauseAfter } from './back-off.ts'
import { BlockedDeals, type NextEvent, type WaitingDeal } from './blocked-deals.ts'
import type { Delivered, Delivery, Receiver } from './deliver.ts'
import type { Attempt, LoadedWebhook, PauseReason, Webhook, WebhookWork } from './ports.ts'
import { Progress } from './progress.ts'
import { type FindStanding, standingNow } from './responsible.ts'

/** The parts that a sender uses. */
export interface SenderPorts {
  readonly log: Pick<EventLog, 'read'>
  readonly work: Pick<WebhookWork, 'save' | 'waiting'>
  /** Makes the envelope of an event. */
  readonly represent: (event: LoggedEvent) => object
  readonly deliver: (
    receiver: Receiver,
    sent: { readonly delivery: Delivery; readonly signal: AbortSignal },
  ) => Promise<Delivered | undefined>
  readonly findStanding: FindStanding
  /** Bounds the requests of all senders of the process. */
  readonly permits: Permits
  readonly clock: Clock
  /** From 0 to 1. */
  readonly random: () => number
  readonly logger: Pick<Log, 'warn' | 'info'>
  readonly onAttempt: (attempt: Attempt) => void
  readonly onPause: (webhook: Webhook, reason: PauseReason) => void
}

/** Times and sizes of senders; times in milliseconds. */
export interface SenderOptions {
  readonly owner: string
  readonly leaseMs: number
  /** The interval of reads without a wake-up. */
  readonly pollMs: number
  readonly pageSize: number
  /** Deals whose events one webhook sends side by side. */
  readonly concurrency: number
  /** With this many deals that wait, no new deal begins. */
  readonly maxBlocked: number
  /** After this many failures in a row, the receiver seems to be down. */
  readonly downAfter: number
  readonly retriesMs: readonly number[]
}

/** How long a sender waits after an outage of the database or of the principal records, in milliseconds. */
const outagePauseMs = 500
/** How often a position is stored that moved without any attempt, in milliseconds. */
const positionAfterMs = 2_000
/** The shortest pause before a retry, in milliseconds: other work of the process goes on. */
const shortestPauseMs = 5
const waitingLimit = 50

/** Sends the events of one webhook, as long as this server has it. */
export class WebhookSender {
  readonly webhook: Webhook
  readonly #ports: SenderPorts
  readonly #options: SenderOptions
  readonly #blocked: BlockedDeals
  readonly #progress: Progress
  readonly #abort = new AbortController()
  readonly #retries = new Set<Promise<void>>()
  /** Everything up to here was read. */
  #place: Place
  /** The end of the page that is being sent, or of the last one. */
  #taken: Place
  #pageSince: string | undefined
  #runId: string | undefined
  #pause: PauseReason | undefined
  #isStopping = false
  readonly #wakeUp = new Signal()
  #running: Promise<void> = Promise.resolve()

  constructor(ports: SenderPorts, options: SenderOptions, of: { loaded: LoadedWebhook; leaseUntil: number }) {
    const { loaded, leaseUntil } = of
    this.webhook = loaded.webhook
    this.#ports = ports
    this.#options = options
    this.#blocked = new BlockedDeals(loaded.blocked)
    const { work, clock } = ports
    const { owner, leaseMs } = options
    this.#progress = new Progress({ work, clock, owner, leaseMs }, loaded, { blocked: this.#blocked, leaseUntil })
    this.#place = loaded.place
    this.#taken = loaded.place
    // Every request under way listens; they are bounded by the permits.
    setMaxListeners(0, this.#abort.signal)
  }

  /** True when it has ended by itself: the webhook is paused, lost, or must be loaded again. */
  get hasEnded(): boolean {
    return this.#isStopping || this.#pause !== undefined || this.#progress.isLost
  }

  /** When the oldest event happened that is being sent or waits (RFC 3339). */
  get oldestWaiting(): string | undefined {
    const times = [this.#blocked.oldest(), this.#pageSince].filter((time) => time !== undefined)
    return times.sort()[0]
  }

  start(): void {
    this.#running = this.#run()
  }

  /** Wakes the sender: there may be new events, or other rights. */
  wake(): void {
    this.#wakeUp.raise()
  }

  /** The lease was prolonged until then, on the monotonic clock. */
  prolong(until: number): void {
    this.#progress.prolong(until)
  }

  /** Ends: begins nothing, gives requests under way `graceMs` to end, and stores what was done. */
  async stop(graceMs: number): Promise<void> {
    this.#isStopping = true
    this.wake()
    const timer = setTimeout(() => this.#abort.abort(), graceMs)
    await this.#running.finally(() => clearTimeout(timer))
  }

  async #run(): Promise<void> {
    while (!this.hasEnded) {
      this.#wakeUp.clear()
      const waitMs = await this.#turn().catch((err: unknown) => this.#onError(err))
      if (waitMs > 0 && !this.hasEnded) await this.#wakeUp.wait(waitMs)
    }
    if (this.#pause !== undefined) this.#abort.abort()
    await Promise.all(this.#retries)
    await this.#saveLast().catch((err: unknown) => this.#onError(err))
  }

  /** A pause that could not be stored does not count: the next sender finds the same reason. @throws Unavailable */
  async #saveLast(): Promise<void> {
    await this.#progress.save(this.#pause ?? null)
    if (this.#pause !== undefined && !this.#progress.isLost) this.#ports.onPause(this.webhook, this.#pause)
  }

  #onError(err: unknown): number {
    if (!(err instanceof Unavailable)) this.#ports.logger.warn({ err, webhook: this.webhook.id }, 'A webhook failed')
    return outagePauseMs
  }

  /** Sends what can be sent now. Answers how long to wait, in milliseconds. @throws Unavailable */
  async #turn(): Promise<number> {
    const { pollMs, maxBlocked } = this.#options
    const standing = await this.#standing()
    if (!standing) return outagePauseMs
    if (this.#isHeldOff()) return pollMs
    const isDown = this.#isDown()
    this.#beginRetries(isDown)
    if (isDown || this.#blocked.size >= maxBlocked) {
      await this.#saveIfDue()
      return this.#nextRetryMs()
    }
    const page = await this.#readPage(standing.deleted !== 'all')
    if (!page) return 0
    await this.#sendPage(page, standing)
    this.#place = page.end
    this.#progress.position = page.end.position
    await this.#saveIfDue()
    return page.isLast ? this.#nextRetryMs() : 0
  }

  /** What the responsible user may see; undefined when that cannot be known, or when the webhook is paused for it. */
  async #standing(): Promise<Sight | undefined> {
    const standing = await standingNow(this.#ports.findStanding, this.webhook.responsible)
    if (standing && 'pause' in standing) {
      this.#pause = standing.pause
      return undefined
    }
    return standing
  }

  /** True while the receiver wants no request. */
  #isHeldOff(): boolean {
    const { heldUntil } = this.#progress.health
    return heldUntil !== null && Date.parse(heldUntil) > this.#ports.clock.now()
  }

  #isDown(): boolean {
    return this.#progress.health.failures >= this.#options.downAfter && this.#blocked.size > 0
  }

  #mayBegin(): boolean {
    return !this.hasEnded && !this.#isHeldOff() && !this.#isDown()
  }

  /** Undefined when the database was restarted, or another one took over: the webhook is loaded again. */
  async #readPage(hidesDeleted: boolean): Promise<EventPage | undefined> {
    const page = await this.#ports.log.read(this.#place, { limit: this.#options.pageSize, hidesDeleted })
    this.#runId ??= page.runId
    if (page.runId === this.#runId) return page
    // What is known here may be ahead of the database that took over.
    this.#progress.abandon()
    return undefined
  }

  /** Sends the events of a page. What cannot be sent now waits in its deal. */
  async #sendPage(page: EventPage, standing: Sight): Promise<void> {
    this.#taken = page.end
    const groups = this.#groupsOf(page, standing)
    this.#pageSince = groups[0]?.[0]?.occurredAt
    const running = new Set<Promise<void>>()
    for (const group of groups) {
      while (running.size >= this.#options.concurrency) await Promise.race(running)
      const task = this.#sendGroup(group).finally(() => running.delete(task))
      running.add(task)
    }
    await Promise.all(running)
    this.#pageSince = undefined
  }

  /** The wanted events of each deal, in order, without deals that wait. */
  #groupsOf({ events }: EventPage, standing: Sight): LoggedEvent[][] {
    const groups = new Map<string, LoggedEvent[]>()
    for (const read of events) {
      const event = this.#wanted(read, standing)
      if (!event || this.#blocked.takes(event.dealId)) continue
      const group = groups.get(event.dealId)
      if (group) group.push(event)
      else groups.set(event.dealId, [event])
    }
    return [...groups.values()]
  }

  /** The event as the responsible user sees it; undefined when it is not to be sent. */
  #wanted(event: LoggedEvent, standing: Sight): LoggedEvent | undefined {
    const { types, deals } = this.webhook
    if (deals.length > 0 && !deals.includes(event.dealId)) return undefined
    const seen = seenBy(standing, event)
    const isNotice = seen !== event
    return isNotice || types.length === 0 || types.includes(event.type) ? seen : undefined
  }

  async #sendGroup(events: readonly LoggedEvent[]): Promise<void> {
    for (const event of events) {
      const sent = this.#mayBegin()
        ? await this.#send(event, 1).catch((err: unknown) => void this.#onError(err))
        : undefined
      if (sent?.attempt.outcome === 'delivered') continue
      const at = this.#nextAttempt(event, { attempts: sent ? 1 : 0, retryAfterMs: sent?.retryAfterMs })
      this.#blocked.add(event, at)
      return
    }
  }

  /** Begins to send again what waits, as far as it is due. */
  #beginRetries(isDown: boolean): void {
    const free = this.#roomForRetries(isDown)
    if (free <= 0) return
    for (const deal of this.#blocked.due(this.#ports.clock.now(), isDown).slice(0, free)) {
      deal.isRunning = true
      const task = this.#retry(deal)
        .catch((err: unknown) => {
          deal.nextAttemptAt = this.#ports.clock.now() + this.#onError(err)
        })
        .finally(() => {
          deal.isRunning = false
          this.#retries.delete(task)
          this.wake()
        })
      this.#retries.add(task)
    }
  }

  /** How many deals that wait may begin. While the receiver seems to be down, one of them tries. */
  #roomForRetries(isDown: boolean): number {
    return (isDown ? 1 : this.#options.concurrency) - this.#retries.size
  }

  /** When a retry can begin, in milliseconds. A retry that ends wakes the sender. */
  #nextRetryMs(): number {
    const isDown = this.#isDown()
    if (this.#roomForRetries(isDown) <= 0) return this.#options.pollMs
    const dueInMs = this.#blocked.nextIn(this.#ports.clock.now(), isDown)
    return Math.min(this.#options.pollMs, Math.max(shortestPauseMs, dueInMs))
  }

  /** Sends the events of a deal that waits, until one fails or none is left. @throws Unavailable */
  async #retry(deal: WaitingDeal): Promise<void> {
    for (;;) {
      const standing = await this.#standing()
      if (!standing) throw new Unavailable('principals')
      deal.hasMore = false
      const events = await this.#ports.work.waiting({
        dealId: deal.dealId,
        sequence: deal.sequence,
        upTo: this.#taken,
        limit: waitingLimit,
        hidesDeleted: standing.deleted !== 'all',
      })
      for (const event of events) if (!(await this.#retryEvent(deal, event, standing))) return this.#saveIfDue()
      if (events.length > 0) continue
      if (!deal.hasMore) break
    }
    this.#blocked.free(deal)
    await this.#saveIfDue()
  }

  /** True when the next event of the deal may follow. */
  async #retryEvent(deal: WaitingDeal, read: LoggedEvent, standing: Sight): Promise<boolean> {
    deal.since = read.occurredAt
    const event = this.#wanted(read, standing)
    if (event) {
      const sent = this.hasEnded || this.#isHeldOff() ? undefined : await this.#send(event, deal.attempts + 1)
      if (!sent) {
        deal.nextAttemptAt = this.#ports.clock.now() + outagePauseMs
        return false
      }
      if (sent.attempt.outcome === 'failed') {
        deal.sequence = event.sequence
        Object.assign(deal, this.#nextAttempt(event, { ...sent, attempts: deal.attempts + 1 }))
        this.#blocked.touch(deal)
        return false
      }
    }
    deal.sequence = read.sequence + 1
    deal.attempts = 0
    this.#blocked.touch(deal)
    return true
  }

  /** When the event is tried again. Pauses the webhook when no attempt is left. */
  #nextAttempt(
    { dealId }: NextEvent,
    { attempts, retryAfterMs }: { attempts: number; retryAfterMs: number | undefined },
  ): { attempts: number; nextAttemptAt: number } {
    const { clock, random, logger } = this.#ports
    const now = clock.now()
    if (attempts === 0) return { attempts, nextAttemptAt: now }
    const pauseMs = pauseAfter({ attempts, retryAfterMs, random: random() }, this.#options.retriesMs)
    if (pauseMs !== undefined) return { attempts, nextAttemptAt: now + pauseMs }
    logger.warn({ webhook: this.webhook.id, dealId, attempts }, 'Webhook paused: its receiver never accepted an event')
    this.#pause ??= 'failing'
    return { attempts: 0, nextAttemptAt: now }
  }

  /** Sends an event once, and notes what happened to it. Undefined when nothing may be sent now. */
  async #send(event: LoggedEvent, attempt: number): Promise<Delivered | undefined> {
    const { permits, deliver, represent, onAttempt } = this.#ports
    const sent = await permits.run(async () => {
      if (this.hasEnded || !this.#progress.isHeld || !(await this.#standing())) return undefined
      const { id: eventId, type, dealId, occurredAt: timestamp } = event
      const delivery = { eventId, type, dealId, timestamp, data: represent(event), attempt }
      const delivered = await deliver(this.webhook, { delivery, signal: this.#abort.signal })
      if (!delivered) this.#pause ??= 'secret-unreadable'
      return delivered
    })
    if (!sent || sent.isAborted) return undefined
    const wasDown = this.#isDown()
    this.#progress.note(sent.attempt)
    onAttempt(sent.attempt)
    if (sent.isGone) this.#pause ??= 'gone'
    if (sent.attempt.outcome === 'delivered') {
      this.#progress.health.heldUntil = null
      if (wasDown) this.#blocked.retryAll(this.#ports.clock.now())
    } else this.#holdOff(sent)
    return sent
  }

  /** A receiver that is overloaded says so for all deals. */
  #holdOff({ attempt: { status }, retryAfterMs }: Delivered): void {
    if (retryAfterMs === undefined || (status !== 429 && status !== 503)) return
    this.#progress.health.heldUntil = new Date(this.#ports.clock.now() + retryAfterMs).toISOString()
  }

  async #saveIfDue(): Promise<void> {
    if (this.#progress.isDue(positionAfterMs)) await this.#progress.save()
  }
}
