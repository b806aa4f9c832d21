/**
 * The tables in memory that last, made in this one place: each is bounded in entries and in bytes, whatever clients put into it. Beyond
 * either bound, the entry longest not used goes; an entry larger than the whole table is not kept.
 */
import { LRUCache } from 'lru-cache'
import type { Clock } from '../clock.ts'

/** How large a table may become. */
export interface BoundedCacheOptions {
  readonly maxEntries: number
  /** So many bytes of keys and values, as `bytesOf` counts them. */
  readonly maxBytes: number
  /** How long an entry is kept at most, in milliseconds; without it, as long as there is room. */
  readonly ttlMs?: number
  /** What times are measured by; needed for entries that expire. */
  readonly clock?: Pick<Clock, 'monotonic'>
}

/** A table by text. */
export interface BoundedCache<Value extends object | string | number | boolean> {
  get(key: string): Value | undefined
  has(key: string): boolean
  /** `ttlMs` in place of the table's. */
  set(key: string, value: Value, entry?: { readonly ttlMs: number }): void
  delete(key: string): void
  clear(): void
  readonly size: number
  /** How many bytes its keys and values take, as `bytesOf` counts them. */
  readonly bytes: number
}

/** An empty table. */
export const createBoundedCache = <Value extends object | string | number | boolean>(
  options: BoundedCacheOptions,
): BoundedCache<Value> => new BoundedLru<Value>(options)

class BoundedLru<Value extends object | string | number | boolean> implements BoundedCache<Value> {
  readonly #entries: LRUCache<string, Value>

  constructor({ maxEntries, maxBytes, ttlMs, clock }: BoundedCacheOptions) {
    this.#entries = new LRUCache({
      max: maxEntries,
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

  set(key: string, value: Value, entry?: { readonly ttlMs: number }): void {
    if (entry) this.#entries.set(key, value, { ttl: entry.ttlMs })
    else this.#entries.set(key, value)
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

  get bytes(): number {
    return this.#entries.calculatedSize
  }
}

/** What an object, or an entry of a table, costs by itself. */
const objectBytes = 48

/** What is counted for an object of a class, such as a key: most of it is not on the heap of JavaScript. */
const foreignBytes = 1024

/** About how many bytes a value takes in memory, rather more than fewer: two for each character. */
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

const isPlain = (value: object): value is Record<string, unknown> => {
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}
