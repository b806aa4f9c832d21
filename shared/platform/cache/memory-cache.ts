import type { Clock } from '../clock.ts'
import { Unavailable } from '../problems/errors.ts'
import { AttemptCounts } from './attempt-counts.ts'
import { type BoundedCache, createBoundedCache } from './bounded-cache.ts'
import {
  type AttemptVerdict,
  assertVersion,
  type Cache,
  type CacheTime,
  type LimitedKey,
  type Listening,
  lifetimeMs,
  type NumberUse,
  type PutOptions,
  type Versioned,
} from './cache.ts'
import { ChannelListeners, type Listener } from './channel-listeners.ts'
import { firstOfWindow, type NumberWindow, useInWindow } from './number-window.ts'

/** The bounds of a cache in memory. */
export interface MemoryCacheOptions {
  /**
   * The largest number of entries, within 64 MB; 50,000 when left out. Beyond it, the least recently used entry is
   * removed.
   */
  readonly maxEntries?: number
  /** Called with the errors that listeners of channels throw. */
  readonly onListenerError?: (error: unknown) => void
}

/**
 * The cache inside this process, for a set-up without Redis. Both servers must get the same object; another object is
 * another run of the cache. All times are measured by `clock.monotonic()`.
 */
export function createMemoryCache(clock: Clock, options: MemoryCacheOptions = {}): Cache {
  return new MemoryCache(clock, options)
}

interface MemoryEntry extends Versioned {
  readonly expiresAtMs: number
}

let runs = 0

class MemoryCache implements Cache {
  readonly #clock: Clock
  readonly #entries: BoundedCache<MemoryEntry>
  readonly #attempts: AttemptCounts
  readonly #numbers: BoundedCache<{ readonly window: NumberWindow; readonly expiresAtMs: number }>
  readonly #listeners: ChannelListeners
  readonly #runId = `memory-${++runs}`
  #closed = false

  constructor(clock: Clock, options: MemoryCacheOptions) {
    this.#clock = clock
    this.#entries = createBoundedCache({ maxEntries: options.maxEntries ?? 50_000, maxBytes: 64_000_000 })
    this.#attempts = new AttemptCounts(clock)
    this.#numbers = createBoundedCache({ maxEntries: options.maxEntries ?? 50_000, maxBytes: 16_000_000 })
    this.#listeners = new ChannelListeners(options.onListenerError ?? (() => undefined))
  }

  async beginAttempt(keys: readonly LimitedKey[], id: string): Promise<AttemptVerdict> {
    this.#assertOpen()
    return this.#attempts.begin(keys, id)
  }

  async endAttempt(keys: readonly LimitedKey[], attempt: { id: string; failed: boolean }): Promise<void> {
    this.#assertOpen()
    this.#attempts.end(keys, attempt)
  }

  async allowsAttempt(keys: readonly LimitedKey[]): Promise<AttemptVerdict> {
    this.#assertOpen()
    return this.#attempts.allows(keys)
  }

  async useNumber(key: string, { number, ttlSeconds }: NumberUse): Promise<'used' | 'refused' | 'unknown'> {
    this.#assertOpen()
    const present = this.#numbers.get(key)
    if (present === undefined || present.expiresAtMs <= this.#clock.monotonic()) return 'unknown'
    const window = useInWindow(present.window, number)
    if (window === undefined) return 'refused'
    this.#keepNumbers(key, window, ttlSeconds)
    return 'used'
  }

  async startNumbers(key: string, { number, ttlSeconds }: NumberUse): Promise<void> {
    this.#assertOpen()
    this.#keepNumbers(key, firstOfWindow(number), ttlSeconds)
  }

  async putVersioned(key: string, { version, value }: Versioned, options: PutOptions): Promise<boolean> {
    assertVersion(version)
    this.#assertOpen()
    if (options.since !== undefined && this.#ageOf(options.since) === undefined) return false
    const present = this.#present(key)
    if (present !== undefined && (options.ifAbsent || present.version > version)) return false
    const expiresAtMs = this.#clock.monotonic() + lifetimeMs(options.ttlSeconds)
    this.#entries.set(key, { version, value, expiresAtMs })
    return true
  }

  async getVersioned(key: string): Promise<Versioned | undefined> {
    this.#assertOpen()
    const present = this.#present(key)
    return present && { version: present.version, value: present.value }
  }

  async time(): Promise<CacheTime> {
    this.#assertOpen()
    return `${this.#runId}:${this.#clock.monotonic()}`
  }

  async publish(
    channel: string,
    message: string,
    { since, maxAgeMs }: { since: CacheTime; maxAgeMs: number },
  ): Promise<boolean> {
    this.#assertOpen()
    const ageMs = this.#ageOf(since)
    if (ageMs === undefined || ageMs < 0 || ageMs > maxAgeMs) return false
    const deliver = this.#listeners.addressees(channel)
    queueMicrotask(() => deliver(message, 0))
    return true
  }

  async subscribe(channel: string, listener: Listener): Promise<() => Promise<void>> {
    const remove = this.#listeners.add(channel, listener)
    return async () => remove()
  }

  isSilent(): boolean {
    return false
  }

  listening(): Listening {
    return { since: Number.NEGATIVE_INFINITY, until: this.#clock.monotonic() }
  }

  async ping(): Promise<void> {
    this.#assertOpen()
  }

  async close(): Promise<void> {
    this.#closed = true
    this.#entries.clear()
    this.#numbers.clear()
  }

  #keepNumbers(key: string, window: NumberWindow, ttlSeconds: number): void {
    this.#numbers.set(key, { window, expiresAtMs: this.#clock.monotonic() + lifetimeMs(ttlSeconds) })
  }

  #present(key: string): MemoryEntry | undefined {
    const entry = this.#entries.get(key)
    if (entry === undefined || entry.expiresAtMs > this.#clock.monotonic()) return entry
    this.#entries.delete(key)
    return undefined
  }

  /** The age of a moment, in milliseconds; undefined when it belongs to another run of the cache. */
  #ageOf(time: CacheTime): number | undefined {
    const [runId, milliseconds] = time.split(':')
    return runId === this.#runId ? this.#clock.monotonic() - Number(milliseconds) : undefined
  }

  #assertOpen(): void {
    if (this.#closed) throw new Unavailable('cache')
  }
}
