/**
 * Follows the feed of principal changes and knows how far it can be trusted. Current: a message told of a look into the database
 * at most 800 ms ago, the time included that it may have been on its way, and the connection answers. Complete: each message began
 * where those before had ended. What was loaded before a gap belongs to an earlier epoch and is not believed any more.
 *
 * Whose feed it is, the auth server says; until it has, there is none to follow. When its database is replaced, all that was followed
 * is forgotten.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Cache } from '../../shared/platform/cache/cache.ts'
import type { Clock } from '../../shared/platform/clock.ts'
import type { Log } from '../../shared/platform/log/log.ts'
import {
  type FeedMessage,
  feedChannel,
  feedMaxAgeMs,
  feedMessageSchema,
} from '../../shared/protocol/principal/change-feed.ts'
import type { AuthClient } from './auth-client.ts'

export interface PrincipalFeed {
  /**
   * Asks whose feed to follow and subscribes; resolves when subscribed, when the cache cannot be reached, or when the auth server did
   * not answer: it then keeps trying.
   */
  start(): Promise<void>
  stop(): Promise<void>
  /** The installation that is followed; undefined as long as it is not known. */
  installationId(): string | undefined
  /** The auth server said, when `before` was followed, that this is the installation: follows it from now on. */
  learn(installationId: string, before: string | undefined): void
  /** From now on calls `listener` whenever what is known of principals is of no use any more: it was another installation's. */
  onOtherInstallation(listener: () => void): void
  /** True while what is in memory and in the cache can be believed. */
  isCurrent(): boolean
  /** When it was current last, on the monotonic clock; minus infinity when never. */
  lastCurrentAt(): number
  /** Grows whenever something may have been missed. */
  epoch(): number
  /** From now on calls `listener` with every change announced: whose record, and the version it has at least. */
  onChange(listener: (foldedUsername: string, version: number) => void): void
  /** From now on calls `listener` with every message's word of which keys are published (`shared/protocol/internal-api/published-keys.ts`). */
  onPublishedKeys(listener: (keys: string) => void): void
  /** The version that a user's record must have at least, as far as messages said; 0 when none did lately. */
  floor(foldedUsername: string): number
  /** Milliseconds since the look into the database that the last message told of; infinite before the first. */
  ageMs(): number
}

/** What a feed works with. */
export interface PrincipalFeedPorts {
  readonly cache: Cache
  readonly authClient: Pick<AuthClient, 'installationId'>
  readonly clock: Clock
  readonly log: Pick<Log, 'warn' | 'error'>
}

/** Floors are kept this long, for loads: much longer than any is under way, in milliseconds. */
const floorKeptMs = 60_000
/** Pause before the auth server is asked again whose feed to follow, in milliseconds. */
const retryMs = 500

/** The feed of one deal server; not current before it is started. */
export function createPrincipalFeed(ports: PrincipalFeedPorts): PrincipalFeed {
  return new FollowedFeed(ports)
}

class FollowedFeed implements PrincipalFeed {
  readonly #ports: PrincipalFeedPorts
  readonly #floors = new Map<string, { version: number; until: number }>()
  readonly #changeListeners: ((foldedUsername: string, version: number) => void)[] = []
  readonly #installationListeners: (() => void)[] = []
  readonly #keysListeners: ((keys: string) => void)[] = []
  readonly #stopping = new AbortController()
  #installationId: string | undefined
  #subscription: Promise<() => Promise<void>> | undefined
  #lastLookAt = Number.NEGATIVE_INFINITY
  #followedUpTo: number | undefined
  #epoch = 0

  constructor(ports: PrincipalFeedPorts) {
    this.#ports = ports
  }

  async start(): Promise<void> {
    await this.#ask().catch((err: unknown) => {
      this.#ports.log.warn({ err }, 'the auth server did not say whose feed of principals to follow; asking again')
      void this.#keepAsking()
    })
    await this.#subscription
  }

  async stop(): Promise<void> {
    this.#stopping.abort()
    await this.#unsubscribe()
  }

  installationId(): string | undefined {
    return this.#installationId
  }

  learn(installationId: string, before: string | undefined): void {
    // An answer from before the last change of installations says nothing new.
    const isNews = installationId !== before && before === this.#installationId
    if (isNews && !this.#stopping.signal.aborted) this.#follow(installationId)
  }

  onOtherInstallation(listener: () => void): void {
    this.#installationListeners.push(listener)
  }

  isCurrent(): boolean {
    return this.ageMs() <= feedMaxAgeMs && !this.#ports.cache.isSilent()
  }

  lastCurrentAt(): number {
    const now = this.#ports.clock.monotonic()
    return this.isCurrent() ? now : Math.min(now, this.#lastLookAt + feedMaxAgeMs)
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

  floor(username: string): number {
    return this.#floors.get(username)?.version ?? 0
  }

  ageMs(): number {
    return this.#ports.clock.monotonic() - this.#lastLookAt
  }

  /** @throws Unavailable */
  async #ask(): Promise<void> {
    const before = this.#installationId
    this.learn(await this.#ports.authClient.installationId(), before)
  }

  async #keepAsking(): Promise<void> {
    const { signal } = this.#stopping
    while (!signal.aborted && this.#installationId === undefined) {
      await sleep(retryMs, undefined, { signal, ref: false }).catch(() => undefined)
      if (!signal.aborted && this.#installationId === undefined) await this.#ask().catch(() => undefined)
    }
  }

  #follow(installationId: string): void {
    const former = this.#installationId
    if (former !== undefined) this.#ports.log.warn({ former, installationId }, 'the auth server has another database')
    void this.#unsubscribe()
    this.#installationId = installationId
    this.#lastLookAt = Number.NEGATIVE_INFINITY
    this.#followedUpTo = undefined
    this.#floors.clear()
    this.#epoch += 1
    for (const listener of this.#installationListeners) listener()
    this.#subscription = this.#ports.cache.subscribe(feedChannel(installationId), (text, heldUpMs) => {
      if (this.#installationId === installationId) this.#hear(text, heldUpMs)
    })
    this.#subscription.catch((err: unknown) => this.#ports.log.error({ err }, 'the principal feed cannot be followed'))
  }

  async #unsubscribe(): Promise<void> {
    const subscription = this.#subscription
    this.#subscription = undefined
    await subscription?.then((unsubscribe) => unsubscribe()).catch(() => undefined)
  }

  #hear(text: string, heldUpMs: number): void {
    const { clock, log } = this.#ports
    const message = parseMessage(text)
    if (!message) {
      log.error('a message on the principal feed is not one; is another program using the channel?')
      return
    }
    const now = clock.monotonic()
    if (this.#followedUpTo === undefined || message.after > this.#followedUpTo) this.#epoch += 1
    this.#followedUpTo = Math.max(this.#followedUpTo ?? 0, message.upTo)
    this.#raiseFloors(message, now)
    this.#lastLookAt = Math.max(this.#lastLookAt, now - heldUpMs - message.ageMs)
    for (const listener of this.#keysListeners) listener(message.keys)
  }

  #raiseFloors({ changes }: FeedMessage, now: number): void {
    const floors = this.#floors
    for (const { username, version } of changes) {
      const known = floors.get(username)?.version ?? 0
      floors.delete(username)
      floors.set(username, { version: Math.max(known, version), until: now + floorKeptMs })
      for (const listener of this.#changeListeners) listener(username, version)
    }
    // Insertion order is order of expiry.
    for (const [username, { until }] of floors) {
      if (until > now) break
      floors.delete(username)
    }
  }
}

function parseMessage(text: string): FeedMessage | undefined {
  try {
    return feedMessageSchema.parse(JSON.parse(text))
  } catch {
    return undefined
  }
}
