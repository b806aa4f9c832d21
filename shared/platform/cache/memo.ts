/**
 * The one way to remember what was loaded or computed: bounded, with expiry, with a load that callers share, and
 * with invalidation. A failed load is not remembered. Tables that count or mark something are no memos.
 */
import { createSharedCalls } from '../concurrency/share-calls.ts'
import { type BoundedCacheOptions, createBoundedCache } from './bounded-cache.ts'

interface MemoOptions<Value> extends BoundedCacheOptions {
  /** False for a value that is given to the caller of its load, and to no other. Asked again at each hit. */
  readonly isGood?: (value: Value) => boolean
  /** How long a key counts as unknown after a load gave undefined, in milliseconds; 0, the default: not at all. */
  readonly unknownForMs?: number
}

/** Unknown keys have bounds of their own: who asks for them displaces no value. */
const unknownBounds = { maxEntries: 10_000, maxBytes: 2_000_000 }

const isAlwaysGood = () => true

/** A memo that remembers nothing yet. */
export function createMemo<Value extends object | string | number | boolean>(options: MemoOptions<Value>) {
  const { isGood = isAlwaysGood, unknownForMs = 0 } = options
  const values = createBoundedCache<Value>(options)
  const unknown =
    unknownForMs > 0 ? createBoundedCache<true>({ ...options, ...unknownBounds, ttlMs: unknownForMs }) : undefined
  const loads = createSharedCalls<Value | undefined>()
  let clears = 0

  /** The remembered value, if it is good. */
  function peek(key: string): Value | undefined {
    const value = values.get(key)
    return value !== undefined && isGood(value) ? value : undefined
  }

  function remember(key: string, value: Value | undefined): void {
    if (value !== undefined && isGood(value)) values.set(key, value)
    else values.delete(key)
    if (value === undefined) unknown?.set(key, true)
    else unknown?.delete(key)
  }

  /** The remembered value, if it is good, else the computed one; undefined is not remembered. @throws its errors */
  function get<Computed extends Value | undefined>(key: string, compute: (key: string) => Computed): Value | Computed {
    const known = peek(key)
    if (known !== undefined) return known
    const computed = compute(key)
    remember(key, computed)
    return computed
  }

  async function loadNow(key: string, load: () => Promise<Value | undefined>): Promise<Value | undefined> {
    const then = clears
    const value = await load()
    if (then === clears) remember(key, value)
    return value
  }

  /** Remembers another value, or none, in place of exactly this one; does nothing when this one is not remembered. */
  function replace(key: string, former: Value, value: Value | undefined): void {
    if (values.get(key) !== former) return
    if (value === undefined) values.delete(key)
    else values.set(key, value)
  }

  /** Forgets everything. No caller from now on gets the result of a load that is under way. */
  function clear(): void {
    clears += 1
    for (const table of [values, unknown, loads]) table?.clear()
  }

  return {
    peek,
    get,
    /** True for a key whose load gave undefined within the last `unknownForMs`. */
    isUnknown: (key: string): boolean => unknown?.has(key) ?? false,
    /** Loads the value, even if one is remembered. Callers at the same time share a load. @throws errors of load */
    load: (key: string, load: () => Promise<Value | undefined>): Promise<Value | undefined> =>
      loads.share(key, () => loadNow(key, load)),
    replace,
    clear,
  }
}
