/**
 * All lasting tables in memory are made here. Each is bounded in entries and in bytes, so that clients cannot make it
 * grow without end. Beyond either bound, the least recently used entry is removed. An entry larger than the whole table
 * is not kept.
 */
import { LRUCache } from 'lru-cache'
import type { Clock } from '../clock.ts'

/** How large a table may become. */
export interface BoundedCacheOptions {
  readonly maxEntries: number
  /** The largest number of bytes of all keys and values, as `bytesOf` counts them. */
  readonly maxBytes: number
  /** The longest life of an entry, in milliseconds; without limit when left out. */
  readonly ttlMs?: number
  /** The clock for entries that expire. */
  readonly clock?: Clock
}

/** A table whose keys are texts. */
export class BoundedCache<Value extends object | string | number | boolean> {
  readonly #entries: LRUCache<string, Value>
  readonly #maxEntries: number

  constructor({ maxEntries, maxBytes, ttlMs, clock }: BoundedCacheOptions) {
    this.#maxEntries = maxEntries
    // Without `max`: with it, the library takes the memory of all entries at once, which delays the start of a server.
    this.#entries = new LRUCache({
      maxSize: maxBytes,
      sizeCalculation: (value, key) => bytesOf(key) + bytesOf(value),
      ttlResolution: 0,
      ...(ttlMs === undefined ? {} : { ttl: ttlMs }),
      ...(clock === undefined ? {} : { perf: { now: clock.monotonic } }),
    })
  }

  get(key: string): Value | undefined {
    return this.#entries.get(key)
  }

  has(key: string): boolean {
    return this.#entries.has(key)
  }

  /** `ttlMs` replaces the one of the table. */
  set(key: string, value: Value, entry?: { readonly ttlMs: number }): void {
    if (entry) this.#entries.set(key, value, { ttl: entry.ttlMs })
    else this.#entries.set(key, value)
    if (this.#entries.size > this.#maxEntries) this.#entries.pop()
  }

  delete(key: string): void {
    this.#entries.delete(key)
  }

  clear(): void {
    this.#entries.clear()
  }

  get size(): number {
    return this.#entries.size
  }

  /** The bytes of all keys and values, as `bytesOf` counts them. */
  get bytes(): number {
    return this.#entries.calculatedSize
  }
}

/** An empty table. */
export const createBoundedCache = <Value extends object | string | number | boolean>(
  options: BoundedCacheOptions,
): BoundedCache<Value> => new BoundedCache<Value>(options)

/** The cost of an object, or of an entry of a table, without its content. */
const objectBytes = 48

/** The cost of an object of a class, such as a key. Most of it is not on the heap of JavaScript. */
const foreignBytes = 1024

/** Estimates the bytes of a value in memory, more rather than fewer: two for each character. */
export function bytesOf(value: unknown): number {
  if (typeof value === 'string') return 24 + 2 * value.length
  if (typeof value !== 'object' || value === null) return 8
  let bytes = objectBytes
  if (Array.isArray(value)) for (const item of value) bytes += bytesOf(item)
  else if (value instanceof Map) for (const [key, item] of value) bytes += bytesOf(key) + bytesOf(item)
  else if (!isPlain(value)) bytes += foreignBytes
  else for (const name in value) bytes += 8 + bytesOf(value[name])
  return bytes
}

function isPlain(value: object): value is Record<string, unknown> {
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}
