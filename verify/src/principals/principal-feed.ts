/**
 * Follows the change feed and knows how far it can be trusted (docs/revocation.md#following). It comes from Redis, or
 * as a stream from an auth server.
 *
 * Current: the last message of either way tells of a read of the database at most 800 ms ago, including the time it was
 * on its way, and the connection answers. Complete: each message began where those before it ended, of either way. A
 * gap begins a new epoch; records loaded in an earlier epoch are not believed. The cache is believed while Redis is the
 * way, and has told all that the stream has.
 *
 * The auth server says which instance to follow. When its database is replaced, or another PostgreSQL server has taken
 * over, everything known of the former instance is dropped. A deal server that reaches no auth server finds a note
 * about that in the cache (`succession.ts`).
 */

import { setTimeout as sleep } from 'node:timers/promises'
import type { ZodType } from 'zod'
import { createBoundedCache } from '../../../shared/platform/cache/bounded-cache.ts'
import type { Listener } from '../../../shared/platform/cache/channel-listeners.ts'
import { readStored } from '../../../shared/platform/json.ts'
import type { FeedLine } from '../../../shared/protocol/internal-api/feed-stream.ts'
import {
  type FeedMessage,
  type FeedPart,
  feedChannel,
  feedMaxAgeMs,
  feedMessageSchema,
  feedPartSchema,
  seriesChannel,
} from '../../../shared/protocol/principal/change-feed.ts'
import { findSuccessor } from '../../../shared/protocol/principal/succession.ts'
import type { AuthClient } from '../auth-client/auth-client.ts'
import type { ServiceSystems } from '../auth-client/service-systems.ts'

/** How long a minimum version is kept, in milliseconds: much longer than any load takes. */
const minVersionKeptMs = 60_000
/** Pause before the auth server is asked again for its instance, while the feed is not current, in milliseconds. */
const retryMs = 500
/** The same before the cache is asked for a note about another instance: the auth server may take long to answer. */
const lookMs = 250

/** After this time without news from Redis the stream is opened, in milliseconds: before the feed is too old. */
const streamAfterMs = 400
/** So long the stream is kept when Redis brings news again, in milliseconds. */
const streamKeptMs = 5_000

/** What the feed is followed with. */
interface FeedSystems extends Pick<ServiceSystems, 'cache' | 'clock' | 'log'> {
  readonly authClient: Pick<AuthClient, 'instanceId'>
}

/** How messages come. */
type Way = 'redis' | 'stream'

const never: Readonly<Record<Way, number>> = { redis: Number.NEGATIVE_INFINITY, stream: Number.NEGATIVE_INFINITY }

/** The change feed as a deal server follows it. It is not current before it is started. */
export class PrincipalFeed {
  readonly #systems: FeedSystems
  readonly #minVersions = new Map<string, { version: number; until: number }>()
  readonly #changeListeners: ((foldedUsername: string, version: number) => void)[] = []
  readonly #instanceListeners: (() => void)[] = []
  readonly #keysListeners: ((keys: string) => void)[] = []
  readonly #series = new FeedSeries()
  readonly #stopping = new AbortController()
  #instanceId: string | undefined
  #subscriptions: Promise<() => Promise<void>>[] = []
  /** The latest read of the database that each way has told of. */
  #readAt: Record<Way, number> = { ...never }
  /** All changes up to this version are known. */
  #followedUpTo: number | undefined
  /** All records in the cache are at least as new as this version. */
  #cacheUpTo = 0
  #epoch = 0
  /** Up to this time a stream has told all that was announced after the last read. */
  #announcedAt = Number.NEGATIVE_INFINITY
  /** When the auth server was asked last that has answered from the database. */
  #answeredAt = Number.NEGATIVE_INFINITY
  /** When Redis brought too little last. */
  #missedAt = Number.NEGATIVE_INFINITY
  #beganAt: number

  constructor(systems: FeedSystems) {
    this.#systems = systems
    this.#beganAt = systems.clock.monotonic()
  }

  /**
   * Asks the auth server for the instance and subscribes. Resolves when subscribed, or when the cache or the auth
   * server does not answer; it then keeps trying.
   */
  async start(): Promise<void> {
    await this.#ask().catch((err: unknown) => {
      this.#systems.log.warn({ err }, 'The auth server did not name its instance; asking again')
    })
    void this.#whileNotCurrent(retryMs, () => this.#ask())
    void this.#whileNotCurrent(lookMs, () => this.#look())
    await Promise.all(this.#subscriptions)
  }

  async stop(): Promise<void> {
    this.#stopping.abort()
    await this.#unsubscribe()
  }

  /** The instance that is followed; undefined until the auth server has named it. */
  instanceId(): string | undefined {
    return this.#instanceId
  }

  /**
   * Follows this instance, which the auth server named in a response to a request that began while `before` was
   * followed.
   */
  observeInstance(instanceId: string, before: string | undefined): void {
    // A response to a request from before the last change of instances is outdated.
    const isOther = instanceId !== before && before === this.#instanceId
    if (isOther && !this.#stopping.signal.aborted) this.#follow(instanceId)
  }

  /** From now on calls `listener` whenever another instance is followed: nothing known before is of use. */
  onOtherInstance(listener: () => void): void {
    this.#instanceListeners.push(listener)
  }

  /** True while memory can be believed. */
  isCurrent(): boolean {
    return this.#isRedisCurrent() || this.#ageOf('stream') <= feedMaxAgeMs
  }

  /** True while entries of the cache can be believed, too. */
  isCacheCurrent(): boolean {
    return this.#isRedisCurrent() && this.#cacheUpTo >= (this.#followedUpTo ?? 0)
  }

  #isRedisCurrent(): boolean {
    return this.#ageOf('redis') <= feedMaxAgeMs && !this.#systems.cache.isSilent()
  }

  #ageOf(way: Way): number {
    return this.#systems.clock.monotonic() - this.#readAt[way]
  }

  /** When the feed was current last, on the monotonic clock; minus infinity when never. */
  lastCurrentAt(): number {
    const now = this.#systems.clock.monotonic()
    return this.isCurrent() ? now : Math.min(now, now - this.ageMs() + feedMaxAgeMs)
  }

  /**
   * True while changes are still heard of, although no auth server reads the database: since the last read that a
   * message told of, everything announced has arrived.
   */
  hears(): boolean {
    const { clock, cache } = this.#systems
    const now = clock.monotonic()
    if (now - this.#announcedAt <= feedMaxAgeMs) return true
    const readAt = Math.max(this.#readAt.redis, this.#readAt.stream)
    const listening = cache.listening()
    // Changes that the database alone could tell may have been acknowledged while the feed was not current.
    if (listening === undefined || listening.since > readAt || this.#answeredAt - readAt > feedMaxAgeMs) return false
    return now - listening.until <= feedMaxAgeMs
  }

  /** The auth server has answered from the database, at this time on the monotonic clock or later. */
  noteAnswer(asOf: number): void {
    this.#answeredAt = Math.max(this.#answeredAt, asOf)
  }

  /** True while Redis brings too little, and a while after. */
  needsStream(): boolean {
    const now = this.#systems.clock.monotonic()
    const readAt = Math.max(this.#readAt.redis, this.#beganAt)
    if (now - readAt > streamAfterMs || this.#systems.cache.isSilent()) this.#missedAt = now
    return now - this.#missedAt <= streamKeptMs
  }

  /** From where a stream goes on; undefined while no instance is known. */
  position(): { readonly instance: string; readonly after: number | undefined } | undefined {
    return this.#instanceId === undefined ? undefined : { instance: this.#instanceId, after: this.#followedUpTo }
  }

  /**
   * Takes a line of the instance that is followed, and ignores others. Times are on the monotonic clock: the database
   * was read at `readAt` or later, and what was announced by `announcedAt` is told.
   */
  onLine({ instanceId, changes, end }: FeedLine, readAt: number, announcedAt = Number.NEGATIVE_INFINITY): void {
    if (instanceId !== this.#instanceId) return
    this.#raiseMinVersions(changes)
    this.#announcedAt = Math.max(this.#announcedAt, announcedAt)
    if (end) this.#advance(end, 'stream', readAt)
  }

  /** Grows whenever a message may have been missed. */
  epoch(): number {
    return this.#epoch
  }

  /**
   * From now on calls `listener` with every announced change: the user, and the version that the record has at least.
   */
  onChange(listener: (foldedUsername: string, version: number) => void): void {
    this.#changeListeners.push(listener)
  }

  /**
   * From now on calls `listener` with the digest of the published keys in each message
   * (docs/revocation.md#key-changes).
   */
  onPublishedKeys(listener: (keys: string) => void): void {
    this.#keysListeners.push(listener)
  }

  /** The version that a user's record must have at least; 0 when no message of the last minute named the user. */
  minVersion(username: string): number {
    return this.#minVersions.get(username)?.version ?? 0
  }

  /** Milliseconds since the read of the database that the last message tells of; infinite before the first message. */
  ageMs(): number {
    return Math.min(this.#ageOf('redis'), this.#ageOf('stream'))
  }

  /** @throws Unavailable */
  async #ask(): Promise<void> {
    const before = this.#instanceId
    this.observeInstance(await this.#systems.authClient.instanceId(), before)
  }

  /** @throws Unavailable */
  async #look(): Promise<void> {
    const before = this.#instanceId
    const successor = before === undefined ? undefined : await findSuccessor(this.#systems.cache, before)
    if (successor !== undefined) this.observeInstance(successor, before)
  }

  /** While the feed is not current, another instance may have taken the place of the one that is followed. */
  async #whileNotCurrent(pauseMs: number, work: () => Promise<void>): Promise<void> {
    const { signal } = this.#stopping
    while (!signal.aborted) {
      await sleep(pauseMs, undefined, { signal, ref: false }).catch(() => undefined)
      if (!signal.aborted && !this.isCurrent()) await work().catch(() => undefined)
    }
  }

  #follow(instanceId: string): void {
    const former = this.#instanceId
    if (former !== undefined) this.#systems.log.warn({ former, instanceId }, 'The auth server has another database')
    void this.#unsubscribe()
    this.#instanceId = instanceId
    this.#readAt = { ...never }
    this.#announcedAt = never.stream
    this.#followedUpTo = undefined
    this.#cacheUpTo = 0
    this.#beganAt = this.#systems.clock.monotonic()
    this.#minVersions.clear()
    this.#series.clear()
    this.#epoch += 1
    for (const listener of this.#instanceListeners) listener()
    this.#subscriptions = [
      this.#subscribe(instanceId, seriesChannel(instanceId), (text, heldUpMs) => this.#onPart(text, heldUpMs)),
      this.#subscribe(instanceId, feedChannel(instanceId), (text, heldUpMs) => this.#onMessage(text, heldUpMs)),
    ]
  }

  #subscribe(instanceId: string, channel: string, onText: Listener): Promise<() => Promise<void>> {
    const subscription = this.#systems.cache.subscribe(channel, (text, heldUpMs) => {
      if (this.#instanceId === instanceId) onText(text, heldUpMs)
    })
    subscription.catch((err: unknown) => this.#systems.log.error({ err }, 'The change feed cannot be followed'))
    return subscription
  }

  async #unsubscribe(): Promise<void> {
    const subscriptions = this.#subscriptions
    this.#subscriptions = []
    const end = (subscription: Promise<() => Promise<void>>) => subscription.then((unsubscribe) => unsubscribe())
    await Promise.all(subscriptions.map(end)).catch(() => undefined)
  }

  #onMessage(text: string, heldUpMs: number): void {
    const message = this.#parse(feedMessageSchema, text)
    if (!message) return
    this.#raiseMinVersions(message.changes)
    this.#advanceCache(message, heldUpMs)
  }

  #onPart(text: string, heldUpMs: number): void {
    const part = this.#parse(feedPartSchema, text)
    if (!part) return
    this.#raiseMinVersions(part.changes)
    const span = this.#series.add(part)
    if (span) this.#advanceCache(span, heldUpMs)
  }

  #parse<Message>(schema: ZodType<Message>, text: string): Message | undefined {
    const message = readStored(schema, text)
    if (!message)
      this.#systems.log.error('A message on the change feed has another form; does another program use the channel?')
    return message
  }

  #advanceCache(span: Omit<FeedMessage, 'changes'>, heldUpMs: number): void {
    this.#cacheUpTo = Math.max(this.#cacheUpTo, span.upTo)
    this.#advance(span, 'redis', this.#systems.clock.monotonic() - heldUpMs - span.ageMs)
  }

  /** All changes of this span are known, as the database had them at `readAt` or later. */
  #advance({ after, upTo, keys }: Pick<FeedMessage, 'after' | 'upTo' | 'keys'>, way: Way, readAt: number): void {
    if (this.#followedUpTo === undefined || after > this.#followedUpTo) this.#epoch += 1
    this.#followedUpTo = Math.max(this.#followedUpTo ?? 0, upTo)
    this.#readAt[way] = Math.max(this.#readAt[way], readAt)
    for (const listener of this.#keysListeners) listener(keys)
  }

  #raiseMinVersions(changes: FeedMessage['changes']): void {
    const now = this.#systems.clock.monotonic()
    const minVersions = this.#minVersions
    for (const { username, version } of changes) {
      const known = minVersions.get(username)?.version ?? 0
      minVersions.delete(username)
      minVersions.set(username, { version: Math.max(known, version), until: now + minVersionKeptMs })
      for (const listener of this.#changeListeners) listener(username, version)
    }
    // The order of insertion is the order of expiry.
    for (const [username, { until }] of minVersions) {
      if (until > now) break
      minVersions.delete(username)
    }
  }
}

/** Several auth servers may send a series at the same time. */
const maxSeries = 64

/** The series that are under way. */
class FeedSeries {
  /** The number of the part that comes next. */
  readonly #next = createBoundedCache<number>({ maxEntries: maxSeries, maxBytes: 64_000 })

  /** Takes a part. The span of the series when it is the last one, and all before it have come in their order. */
  add({ series, part, end }: FeedPart): FeedPart['end'] {
    const isNext = part === 1 || this.#next.get(series) === part
    this.#next.delete(series)
    if (!isNext) return undefined
    if (end === undefined) this.#next.set(series, part + 1)
    return end
  }

  clear(): void {
    this.#next.clear()
  }
}
