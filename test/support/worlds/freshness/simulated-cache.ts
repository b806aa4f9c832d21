/**
 * A Redis in virtual time: one server that can be killed and started from a dump, and clients whose connections can
 * fail.
 */
import { AttemptCounts } from '../../../../shared/platform/cache/attempt-counts.ts'
import type {
  AttemptVerdict,
  Cache,
  CacheTime,
  LimitedKey,
  Listening,
  PutOptions,
  Versioned,
} from '../../../../shared/platform/cache/cache.ts'
import type { Listener } from '../../../../shared/platform/cache/channel-listeners.ts'
import { Unavailable } from '../../../../shared/platform/problems/errors.ts'
import { SimulatedLink } from './simulated-link.ts'
import type { VirtualTime } from './virtual-time.ts'

type Subscriber = (channel: string, message: string) => void

interface Entry extends Versioned {
  readonly run: string
  readonly expiresAt: number
}

/** The server. Like the scripts of the Redis cache, it believes nothing across runs. */
export class SimulatedCacheServer {
  readonly #time: VirtualTime
  readonly #subscribers = new Map<Subscriber, () => void>()
  #entries = new Map<string, Entry>()
  #dump = new Map<string, Entry>()
  #isRunning = true
  #runs = 1
  readonly attempts: AttemptCounts
  /** When it forgot something last. */
  lastLossAt = Number.NEGATIVE_INFINITY

  constructor(time: VirtualTime) {
    this.#time = time
    this.attempts = new AttemptCounts(time)
  }

  dump(): void {
    this.#dump = new Map(this.#entries)
  }

  kill(): void {
    this.lastLossAt = this.#time.monotonic()
    this.#isRunning = false
    const lost = [...this.#subscribers.values()]
    this.#subscribers.clear()
    for (const tell of lost) tell()
  }

  /** Starts it with what the last dump holds. */
  start(): void {
    if (this.#isRunning) return
    this.#entries = new Map(this.#dump)
    this.#runs += 1
    this.#isRunning = true
  }

  evict(key: string): void {
    this.lastLossAt = this.#time.monotonic()
    this.#entries.delete(key)
  }

  /** The version that a reader would find; 0 when it would find none. */
  versionOf(key: string): number {
    const present = this.#isRunning ? this.#present(key) : undefined
    return present?.version ?? 0
  }

  put(key: string, { version, value }: Versioned, options: PutOptions): boolean {
    this.#requireRunning()
    if (options.since !== undefined && runOf(options.since) !== this.#run) return false
    const present = this.#present(key)
    if (present && (options.ifAbsent || present.version > version)) return false
    const expiresAt = this.#time.monotonic() + options.ttlSeconds * 1000
    this.#entries.set(key, { version, value, run: this.#run, expiresAt })
    return true
  }

  get(key: string): Versioned | undefined {
    this.#requireRunning()
    const present = this.#present(key)
    return present && { version: present.version, value: present.value }
  }

  time(): CacheTime {
    this.#requireRunning()
    return `${this.#run}:${this.#time.monotonic()}`
  }

  publish(channel: string, message: string, { since, maxAgeMs }: { since: CacheTime; maxAgeMs: number }): boolean {
    this.#requireRunning()
    const at = Number(since.slice(since.lastIndexOf(':') + 1))
    if (runOf(since) !== this.#run || this.#time.monotonic() - at > maxAgeMs) return false
    for (const subscriber of this.#subscribers.keys()) subscriber(channel, message)
    return true
  }

  /** False when it is not running; `onLost` is called when it stops doing so. */
  attach(subscriber: Subscriber, onLost: () => void): boolean {
    if (this.#isRunning) this.#subscribers.set(subscriber, onLost)
    return this.#isRunning
  }

  detach(subscriber: Subscriber): void {
    this.#subscribers.delete(subscriber)
  }

  isAttached(subscriber: Subscriber): boolean {
    return this.#subscribers.has(subscriber)
  }

  get #run(): string {
    return `run${this.#runs}`
  }

  /** The entry of the present run. */
  #present(key: string): Entry | undefined {
    const entry = this.#entries.get(key)
    return entry?.run === this.#run && entry.expiresAt > this.#time.monotonic() ? entry : undefined
  }

  #requireRunning(): void {
    if (!this.#isRunning) throw new Unavailable('cache')
  }
}

const runOf = (time: CacheTime): string => time.slice(0, time.lastIndexOf(':'))

const reconnectMs = 100

/** A client: commands on one link; a connection of its own for what it hears, tried again until it stands. */
export class SimulatedCacheClient implements Cache {
  readonly link: SimulatedLink
  readonly #time: VirtualTime
  readonly #server: SimulatedCacheServer
  readonly #listeners = new Map<string, Listener>()
  /** Whether the subscription's connection does not answer. */
  silent = false
  #slownessMs = 0
  #attachedAt = 0
  #deafUntil = 0
  #reads = 0

  constructor(options: { time: VirtualTime; server: SimulatedCacheServer; latencyMs: () => number }) {
    this.#time = options.time
    this.#server = options.server
    this.link = new SimulatedLink({ ...options, dependency: 'cache', deadlineMs: 300 })
  }

  /** So many reads were asked for. */
  get reads(): number {
    return this.#reads
  }

  /** The subscription breaks, and stands again after so many milliseconds: what is published meanwhile is lost. */
  deafen(milliseconds: number): void {
    this.#server.detach(this.#hear)
    this.#deafUntil = Math.max(this.#deafUntil, this.#time.monotonic() + milliseconds)
    this.#time.after(milliseconds, this.#connect)
  }

  listening(): Listening | undefined {
    const isListening = this.#server.isAttached(this.#hear) && !this.silent
    return isListening ? { since: this.#attachedAt, until: this.#time.monotonic() - 1 - this.#slownessMs } : undefined
  }

  /** From now on messages take so much longer to arrive, in milliseconds. */
  slowDown(milliseconds: number): void {
    this.#slownessMs = milliseconds
  }

  isSilent(): boolean {
    return this.silent
  }

  heal(): void {
    this.link.heal()
    this.#slownessMs = 0
    this.silent = false
    this.#deafUntil = 0
    this.#connect()
  }

  /** This server knows of none. */
  useNumber(): Promise<'unknown'> {
    return this.link.call(() => 'unknown')
  }

  startNumbers(): Promise<void> {
    return this.link.call(() => undefined)
  }

  beginAttempt(keys: readonly LimitedKey[], id: string): Promise<AttemptVerdict> {
    return this.link.call(() => this.#server.attempts.begin(keys, id))
  }

  endAttempt(keys: readonly LimitedKey[], attempt: { id: string; failed: boolean }): Promise<void> {
    return this.link.call(() => this.#server.attempts.end(keys, attempt))
  }

  allowsAttempt(keys: readonly LimitedKey[]): Promise<AttemptVerdict> {
    return this.link.call(() => this.#server.attempts.allows(keys))
  }

  putVersioned(key: string, entry: Versioned, options: PutOptions): Promise<boolean> {
    return this.link.call(() => this.#server.put(key, entry, options))
  }

  getVersioned(key: string): Promise<Versioned | undefined> {
    this.#reads += 1
    return this.link.call(() => this.#server.get(key))
  }

  time(): Promise<CacheTime> {
    return this.link.call(() => this.#server.time())
  }

  publish(channel: string, message: string, fresh: { since: CacheTime; maxAgeMs: number }): Promise<boolean> {
    return this.link.call(() => this.#server.publish(channel, message, fresh))
  }

  async subscribe(channel: string, listener: Listener): Promise<() => Promise<void>> {
    this.#listeners.set(channel, listener)
    this.#connect()
    return async () => {
      this.#listeners.delete(channel)
    }
  }

  async ping(): Promise<void> {
    await this.time()
  }

  async close(): Promise<void> {
    this.#listeners.clear()
  }

  readonly #connect = (): void => {
    if (this.#listeners.size === 0 || this.#server.isAttached(this.#hear)) return
    const connected = this.#time.monotonic() >= this.#deafUntil && this.#server.attach(this.#hear, this.#reconnect)
    if (connected) this.#attachedAt = this.#time.monotonic()
    else this.#reconnect()
  }

  readonly #reconnect = (): void => {
    this.#time.after(reconnectMs, this.#connect)
  }

  readonly #hear = (channel: string, message: string): void => {
    const onItsWayMs = 1 + this.#slownessMs
    this.#time.after(onItsWayMs, () => this.#listeners.get(channel)?.(message, onItsWayMs))
  }
}
