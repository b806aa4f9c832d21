import type { Clock } from '../clock.ts'
import { Unavailable } from '../problems/errors.ts'
import { AttemptCounts } from './attempt-counts.ts'
import { type BoundedCache, createBoundedCache } from './bounded-cache.ts'
import type { AttemptVerdict, Cache, CacheMoment, LimitedKey, NumberUse, PutOptions, Versioned } from './cache.ts'
import { ChannelListeners, type Listener } from './channel-listeners.ts'
import { firstOfWindow, type NumberWindow, useInWindow } from './number-window.ts'
import { assertVersion, lifetimeMs } from './versions.ts'

export interface MemoryCacheOptions {
  /** How many entries are kept, 64 MB at most; beyond, the one longest not used goes. 50 000 when left out. */
  readonly maxEntries?: number
  /** Hears what a listener of a channel threw. */
  readonly onListenerError?: (error: unknown) => void
}

/**
 * The cache inside this process, for a set-up without Redis. Both servers must be given the same object; another object is another
 * incarnation. All times are measured by `clock.monotonic()`.
 */
export function createMemoryCache(clock: Clock, options: MemoryCacheOptions = {}): Cache {
  return new MemoryCache(clock, options)
}

interface MemoryEntry extends Versioned {
  readonly expiresAtMs: number
}

let incarnations = 0

class MemoryCache implements Cache {
  readonly #clock: Clock
  readonly #entries: BoundedCache<MemoryEntry>
  readonly #attempts: AttemptCounts
  readonly #numbers: BoundedCache<{ readonly window: NumberWindow; readonly expiresAtMs: number }>
  readonly #listeners: ChannelListeners
  readonly #incarnation = `memory-${++incarnations}`
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

  async moment(): Promise<CacheMoment> {
    this.#assertOpen()
    return `${this.#incarnation}:${this.#clock.monotonic()}`
  }

  async publish(
    channel: string,
    message: string,
    { since, maxAgeMs }: { since: CacheMoment; maxAgeMs: number },
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

  /** How long ago a moment was, in milliseconds; undefined when it is one of another incarnation. */
  #ageOf(moment: CacheMoment): number | undefined {
    const [incarnation, milliseconds] = moment.split(':')
    return incarnation === this.#incarnation ? this.#clock.monotonic() - Number(milliseconds) : undefined
  }

  #assertOpen(): void {
    if (this.#closed) throw new Unavailable('cache')
  }
}
