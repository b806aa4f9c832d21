/**
 * Follows the change feed and knows how far it can be trusted (docs/revocation.md#following).
 *
 * Current: the last message tells of a read of the database at most 800 ms ago, including the time it was on its way,
 * and the connection answers. Complete: each message began where those before it ended. A gap begins a new epoch;
 * records loaded in an earlier epoch are not believed.
 *
 * The auth server says which instance to follow. When its database is replaced, or another PostgreSQL server has taken
 * over, everything known of the former instance is dropped.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { ZodType } from 'zod'
import type { Cache } from '../../shared/platform/cache/cache.ts'
import type { Listener } from '../../shared/platform/cache/channel-listeners.ts'
import type { Clock } from '../../shared/platform/clock.ts'
import type { Log } from '../../shared/platform/log/log.ts'
import {
  type FeedMessage,
  feedChannel,
  feedMaxAgeMs,
  feedMessageSchema,
  feedPartSchema,
  seriesChannel,
} from '../../shared/protocol/principal/change-feed.ts'
import type { AuthClient } from './auth-client.ts'
import { FeedSeries } from './feed-series.ts'

/** The change feed as a deal server follows it. */
export interface PrincipalFeed {
  /**
   * Asks the auth server for the instance and subscribes. Resolves when subscribed, or when the cache or the auth
   * server does not answer; it then keeps trying.
   */
  start(): Promise<void>
  stop(): Promise<void>
  /** The instance that is followed; undefined until the auth server has named it. */
  instanceId(): string | undefined
  /**
   * Follows this instance, which the auth server named in a response to a request that began while `before` was
   * followed.
   */
  observeInstance(instanceId: string, before: string | undefined): void
  /** From now on calls `listener` whenever another instance is followed: nothing known before is of use. */
  onOtherInstance(listener: () => void): void
  /** True while memory and cache can be believed. */
  isCurrent(): boolean
  /** When the feed was current last, on the monotonic clock; minus infinity when never. */
  lastCurrentAt(): number
  /** Grows whenever a message may have been missed. */
  epoch(): number
  /**
   * From now on calls `listener` with every announced change: the user, and the version that the record has at least.
   */
  onChange(listener: (foldedUsername: string, version: number) => void): void
  /**
   * From now on calls `listener` with the digest of the published keys in each message
   * (docs/revocation.md#key-changes).
   */
  onPublishedKeys(listener: (keys: string) => void): void
  /** The version that a user's record must have at least; 0 when no message of the last minute named the user. */
  minVersion(foldedUsername: string): number
  /** Milliseconds since the read of the database that the last message tells of; infinite before the first message. */
  ageMs(): number
}

/** The parts that the feed uses. */
export interface PrincipalFeedPorts {
  readonly cache: Cache
  readonly authClient: Pick<AuthClient, 'instanceId'>
  readonly clock: Clock
  readonly log: Pick<Log, 'warn' | 'error'>
}

/** How long a minimum version is kept, in milliseconds: much longer than any load takes. */
const minVersionKeptMs = 60_000
/** Pause before the auth server is asked again for its instance, while the feed is not current, in milliseconds. */
const retryMs = 500

/** The feed of one deal server; not current before it is started. */
export function createPrincipalFeed(ports: PrincipalFeedPorts): PrincipalFeed {
  return new FollowedFeed(ports)
}

class FollowedFeed implements PrincipalFeed {
  readonly #ports: PrincipalFeedPorts
  readonly #minVersions = new Map<string, { version: number; until: number }>()
  readonly #changeListeners: ((foldedUsername: string, version: number) => void)[] = []
  readonly #instanceListeners: (() => void)[] = []
  readonly #keysListeners: ((keys: string) => void)[] = []
  readonly #series = new FeedSeries()
  readonly #stopping = new AbortController()
  #instanceId: string | undefined
  #subscriptions: Promise<() => Promise<void>>[] = []
  #lastReadAt = Number.NEGATIVE_INFINITY
  #followedUpTo: number | undefined
  #epoch = 0

  constructor(ports: PrincipalFeedPorts) {
    this.#ports = ports
  }

  async start(): Promise<void> {
    await this.#ask().catch((err: unknown) => {
      this.#ports.log.warn({ err }, 'The auth server did not name its instance; asking again')
    })
    void this.#keepAsking()
    await Promise.all(this.#subscriptions)
  }

  async stop(): Promise<void> {
    this.#stopping.abort()
    await this.#unsubscribe()
  }

  instanceId(): string | undefined {
    return this.#instanceId
  }

  observeInstance(instanceId: string, before: string | undefined): void {
    // A response to a request from before the last change of instances is outdated.
    const isNews = instanceId !== before && before === this.#instanceId
    if (isNews && !this.#stopping.signal.aborted) this.#follow(instanceId)
  }

  onOtherInstance(listener: () => void): void {
    this.#instanceListeners.push(listener)
  }

  isCurrent(): boolean {
    return this.ageMs() <= feedMaxAgeMs && !this.#ports.cache.isSilent()
  }

  lastCurrentAt(): number {
    const now = this.#ports.clock.monotonic()
    return this.isCurrent() ? now : Math.min(now, this.#lastReadAt + feedMaxAgeMs)
  }

  epoch(): number {
    return this.#epoch
  }

  onChange(listener: (foldedUsername: string, version: number) => void): void {
    this.#changeListeners.push(listener)
  }

  onPublishedKeys(listener: (keys: string) => void): void {
    this.#keysListeners.push(listener)
  }

  minVersion(username: string): number {
    return this.#minVersions.get(username)?.version ?? 0
  }

  ageMs(): number {
    return this.#ports.clock.monotonic() - this.#lastReadAt
  }

  /** @throws Unavailable */
  async #ask(): Promise<void> {
    const before = this.#instanceId
    this.observeInstance(await this.#ports.authClient.instanceId(), before)
  }

  /** While the feed is not current, another instance may have taken the place of the one that is followed. */
  async #keepAsking(): Promise<void> {
    const { signal } = this.#stopping
    while (!signal.aborted) {
      await sleep(retryMs, undefined, { signal, ref: false }).catch(() => undefined)
      if (!signal.aborted && !this.isCurrent()) await this.#ask().catch(() => undefined)
    }
  }

  #follow(instanceId: string): void {
    const former = this.#instanceId
    if (former !== undefined) this.#ports.log.warn({ former, instanceId }, 'The auth server has another database')
    void this.#unsubscribe()
    this.#instanceId = instanceId
    this.#lastReadAt = Number.NEGATIVE_INFINITY
    this.#followedUpTo = undefined
    this.#minVersions.clear()
    this.#series.clear()
    this.#epoch += 1
    for (const listener of this.#instanceListeners) listener()
    this.#subscriptions = [
      this.#subscribe(instanceId, seriesChannel(instanceId), (text, heldUpMs) => this.#onPart(text, heldUpMs)),
      this.#subscribe(instanceId, feedChannel(instanceId), (text, heldUpMs) => this.#onMessage(text, heldUpMs)),
    ]
  }

  #subscribe(instanceId: string, channel: string, hear: Listener): Promise<() => Promise<void>> {
    const subscription = this.#ports.cache.subscribe(channel, (text, heldUpMs) => {
      if (this.#instanceId === instanceId) hear(text, heldUpMs)
    })
    subscription.catch((err: unknown) => this.#ports.log.error({ err }, 'The change feed cannot be followed'))
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
    this.#advance(message, heldUpMs)
  }

  #onPart(text: string, heldUpMs: number): void {
    const part = this.#parse(feedPartSchema, text)
    if (!part) return
    this.#raiseMinVersions(part.changes)
    const span = this.#series.add(part)
    if (span) this.#advance(span, heldUpMs)
  }

  #parse<Message>(schema: ZodType<Message>, text: string): Message | undefined {
    const message = parseMessage(schema, text)
    if (!message)
      this.#ports.log.error('A message on the change feed has another form; does another program use the channel?')
    return message
  }

  /** All changes of this span are known. */
  #advance({ after, upTo, ageMs, keys }: Omit<FeedMessage, 'changes'>, heldUpMs: number): void {
    if (this.#followedUpTo === undefined || after > this.#followedUpTo) this.#epoch += 1
    this.#followedUpTo = Math.max(this.#followedUpTo ?? 0, upTo)
    this.#lastReadAt = Math.max(this.#lastReadAt, this.#ports.clock.monotonic() - heldUpMs - ageMs)
    for (const listener of this.#keysListeners) listener(keys)
  }

  #raiseMinVersions(changes: FeedMessage['changes']): void {
    const now = this.#ports.clock.monotonic()
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

function parseMessage<Message>(schema: ZodType<Message>, text: string): Message | undefined {
  try {
    return schema.parse(JSON.parse(text))
  } catch {
    return undefined
  }
}
