/**
 * Cache of credentials that the auth server has checked (API keys, Digest secrets, sessions, right passwords), in
 * memory only. An entry is valid while the version of its user's principal record has not grown: every change of a
 * credential is a change of its principal, so the change feed keeps the entries fresh, too. Versions cannot be compared
 * across instances: when the auth database is replaced, for example by an older one from a backup or by a promoted
 * standby, the cache is cleared.
 */
import { type BoundedCache, createBoundedCache } from '../../platform/cache/bounded-cache.ts'
import type { Clock } from '../../platform/clock.ts'
import type { Traced } from '../../platform/trace-context.ts'
import type { PrincipalRecord } from '../principal/record.ts'
import type { Principals } from './authenticate.ts'

/** An entry: it belongs to a user. */
export interface OfUser {
  readonly username: string
  /** Immutable. Another user with the same name, or the same name in another instance, has another id. */
  readonly userId: string
  /** The version of the user's principal record in the same snapshot of the database, or an older one. */
  readonly version: number
}

/** A cache of credentials by key. */
export interface CredentialCache<Value extends OfUser> {
  /** The cached value, if it is known at once that it is valid. */
  peek(key: string, traceContext?: Traced): Value | undefined
  /**
   * The cached value, else the value from `load`; undefined when `load` finds nothing. @throws errors of `load`;
   * Unavailable
   */
  get(key: string, load: () => Promise<Value | undefined>, traceContext?: Traced): Promise<Value | undefined>
  /** Loads and caches the value, even if one is cached. @throws errors of `load`; Unavailable */
  renew(key: string, load: () => Promise<Value | undefined>, traceContext?: Traced): Promise<Value | undefined>
  /** Replaces exactly this cached value; does nothing when another one is cached, or none any more. */
  replace(key: string, former: Value, value: Value): void
  delete(key: string): void
}

/** The ports and bounds of a cache. */
export interface CredentialCacheOptions {
  readonly principals: Principals
  readonly clock: Clock
  /** The largest number of entries, and of bytes in them. */
  readonly maxEntries: number
  readonly maxBytes: number
  /** The longest time that an entry is kept, in milliseconds; without it, as long as there is room. */
  readonly ttlMs?: number
  /** How long a key without a value is not loaded again, in milliseconds; 1 000 by default, 0 to load it each time. */
  readonly unknownForMs?: number
}

const unknownBounds = { maxEntries: 10_000, maxBytes: 2_000_000 }

/** An empty cache. Concurrent callers of one key share a load. */
export const createCredentialCache = <Value extends OfUser>(options: CredentialCacheOptions): CredentialCache<Value> =>
  new CredentialsInMemory(options)

class CredentialsInMemory<Value extends OfUser> implements CredentialCache<Value> {
  readonly #principals: Principals
  readonly #values: BoundedCache<Value>
  /** Keys without a value. Undefined when such keys are loaded each time. */
  readonly #unknown: BoundedCache<true> | undefined
  readonly #loading = new Map<string, Promise<Value | undefined>>()
  #instances = 0

  constructor({ principals, unknownForMs = 1_000, ...options }: CredentialCacheOptions) {
    const { clock } = options
    this.#principals = principals
    this.#values = createBoundedCache(options)
    if (unknownForMs > 0) this.#unknown = createBoundedCache({ ...unknownBounds, ttlMs: unknownForMs, clock })
    principals.onOtherInstance?.(() => {
      this.#instances += 1
      for (const known of [this.#values, this.#unknown, this.#loading]) known?.clear()
    })
  }

  peek(key: string, traceContext?: Traced): Value | undefined {
    const value = this.#values.get(key)
    const record = value && this.#principals.get(value.username, traceContext)
    // The record is being loaded. A caller that goes on to `get` shares that load.
    if (record instanceof Promise) void record.catch(() => undefined)
    else if (value && isOf(value, record)) return value
    return undefined
  }

  async get(key: string, load: () => Promise<Value | undefined>, traceContext?: Traced): Promise<Value | undefined> {
    const value = this.#values.get(key)
    if (value && (await this.#isGood(value, this.#instances, traceContext))) return value
    if (value) this.#values.delete(key)
    else if (this.#unknown?.has(key)) return undefined
    return this.renew(key, load, traceContext)
  }

  async renew(key: string, load: () => Promise<Value | undefined>, traceContext?: Traced): Promise<Value | undefined> {
    const then = this.#instances
    const loaded = await this.#loadOnce(key, load)
    if (!loaded || (await this.#isGood(loaded, then, traceContext))) return loaded
    // The load had begun before the record, or the whole database, changed.
    this.#values.delete(key)
    return this.#loadOnce(key, load)
  }

  replace(key: string, former: Value, value: Value): void {
    if (this.#values.get(key) === former) this.#values.set(key, value)
  }

  delete(key: string): void {
    this.#values.delete(key)
  }

  /** True for a value that is current and was loaded during the same instance. */
  async #isGood(value: Value, then: number, traceContext: Traced | undefined): Promise<boolean> {
    return (await isCurrent(value, this.#principals, traceContext)) && then === this.#instances
  }

  #loadOnce(key: string, load: () => Promise<Value | undefined>): Promise<Value | undefined> {
    const pending = this.#loading.get(key)
    if (pending) return pending
    const then = this.#instances
    const started = load()
      .then((value) => {
        if (then !== this.#instances) return value
        if (value) this.#values.set(key, value)
        else {
          this.#values.delete(key)
          this.#unknown?.set(key, true)
        }
        return value
      })
      .finally(() => this.#loading.get(key) === started && this.#loading.delete(key))
    this.#loading.set(key, started)
    return started
  }
}

/**
 * True while the version of the user's record has not grown past the value's. For a deleted or disabled user the value
 * stays current: the record itself refuses that user.
 */
export const isCurrent = async (value: OfUser, principals: Principals, traceContext?: Traced): Promise<boolean> =>
  isOf(value, await principals.get(value.username, traceContext))

const isOf = ({ userId, version }: OfUser, record: PrincipalRecord | undefined): boolean =>
  record === undefined || (record.userId === userId && record.version <= version)
