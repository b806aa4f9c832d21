/**
 * Sends the events of one webhook: in the order of each deal, at least once, several deals side by side. It reads the
 * log page by page. A deal whose event fails waits and is tried again by the schedule (`retries.ts`), and the others go
 * on. While the receiver seems to be down, no new deal begins: only deals that failed are tried, until one succeeds.
 */
import { Signal } from '../../shared/platform/concurrency/signal.ts'
import type { Sight } from '../domain/sight.ts'
import type { EventPage, LoggedEvent } from '../events/event-log.ts'
import type { Place } from '../events/position.ts'
import { Attempts, outagePauseMs } from './attempts.ts'
import type { WebhookOptions } from './options.ts'
import type { LoadedWebhook, Webhook } from './ports.ts'
import { reportPauses } from './report-pauses.ts'
import { Retries } from './retries.ts'
import type { WebhookSystems } from './webhook-systems.ts'

/** Sends the events of one webhook, as long as this server has it. */
export class WebhookSender {
  readonly webhook: Webhook
  readonly #systems: WebhookSystems
  readonly #options: WebhookOptions
  readonly #attempts: Attempts
  readonly #retries: Retries
  /** Everything up to here was read. */
  #place: Place
  #pageSince: string | undefined
  #runId: string | undefined
  readonly #wakeUp = new Signal()
  #running: Promise<void> = Promise.resolve()

  constructor(systems: WebhookSystems, options: WebhookOptions, of: { loaded: LoadedWebhook; leaseUntil: number }) {
    const { webhook, place } = of.loaded
    this.webhook = webhook
    this.#systems = systems
    this.#options = options
    this.#attempts = new Attempts(systems, options, of)
    const onEnd = () => this.wake()
    this.#retries = new Retries(systems, options, { attempts: this.#attempts, upTo: place, onEnd })
    this.#place = place
  }

  /** True when it has ended by itself: the webhook is paused, lost, or must be loaded again. */
  get hasEnded(): boolean {
    return this.#attempts.hasEnded
  }

  /** When the oldest event happened that is being sent or waits (RFC 3339). */
  get oldestWaiting(): string | undefined {
    const times = [this.#attempts.blocked.oldest(), this.#pageSince].filter((time) => time !== undefined)
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
    this.#attempts.progress.prolong(until)
  }

  /** Ends: begins nothing, gives requests under way `graceMs` to end, and stores what was done. */
  async stop(graceMs: number): Promise<void> {
    this.#attempts.stop()
    this.wake()
    const timer = setTimeout(() => this.#attempts.abort(), graceMs)
    await this.#running.finally(() => clearTimeout(timer))
  }

  async #run(): Promise<void> {
    while (!this.hasEnded) {
      this.#wakeUp.clear()
      const waitMs = await this.#turn().catch((err: unknown) => this.#attempts.onError(err))
      if (waitMs > 0 && !this.hasEnded) await this.#wakeUp.wait(waitMs)
    }
    if (this.#attempts.pause !== undefined) this.#attempts.abort()
    await this.#retries.settle()
    await this.#saveLast().catch((err: unknown) => this.#attempts.onError(err))
  }

  /** A pause that could not be stored does not count: the next sender finds the same reason. @throws Unavailable */
  async #saveLast(): Promise<void> {
    const { progress, pause: reason } = this.#attempts
    await progress.save(reason)
    if (reason === undefined || progress.isLost) return
    this.#systems.log.warn({ webhook: this.webhook.id, reason }, 'A webhook is paused')
    void reportPauses(this.#systems, 0)
  }

  /** Sends what can be sent now. Answers how long to wait, in milliseconds. @throws Unavailable */
  async #turn(): Promise<number> {
    const { pollMs, maxBlocked } = this.#options
    const { progress, blocked } = this.#attempts
    const standing = await this.#attempts.standing()
    if (!standing) return outagePauseMs
    if (this.#attempts.isHeldOff) return pollMs
    const { isDown } = this.#attempts
    this.#retries.begin()
    if (isDown || blocked.size >= maxBlocked) {
      await progress.saveIfDue()
      return this.#retries.nextInMs()
    }
    const page = await this.#readPage(standing.deleted !== 'all')
    if (!page) return 0
    await this.#sendPage(page, standing)
    this.#place = page.end
    progress.position = page.end.position
    await progress.saveIfDue()
    return page.isLast ? this.#retries.nextInMs() : 0
  }

  /** Undefined when the database was restarted, or another one took over: the webhook is loaded again. */
  async #readPage(hidesDeleted: boolean): Promise<EventPage | undefined> {
    const page = await this.#systems.eventLog.read(this.#place, { limit: this.#options.pageSize, hidesDeleted })
    this.#runId ??= page.runId
    if (page.runId === this.#runId) return page
    // What is known here may be ahead of the database that took over.
    this.#attempts.progress.abandon()
    return undefined
  }

  /** Sends the events of a page. What cannot be sent now waits in its deal. */
  async #sendPage(page: EventPage, standing: Sight): Promise<void> {
    this.#retries.upTo = page.end
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
      const event = this.#attempts.wanted(read, standing)
      if (!event || this.#attempts.blocked.takes(event.dealId)) continue
      const group = groups.get(event.dealId)
      if (group) group.push(event)
      else groups.set(event.dealId, [event])
    }
    return [...groups.values()]
  }

  async #sendGroup(events: readonly LoggedEvent[]): Promise<void> {
    const attempts = this.#attempts
    for (const event of events) {
      const mayBegin = !this.hasEnded && !attempts.isHeldOff && !attempts.isDown
      const sent = mayBegin
        ? await attempts.send(event, 1).catch((err: unknown) => void attempts.onError(err))
        : undefined
      if (sent?.attempt.outcome === 'delivered') continue
      attempts.blocked.add(event, attempts.next(event.dealId, sent ? 1 : 0, sent?.retryAfterMs))
      return
    }
  }
}
