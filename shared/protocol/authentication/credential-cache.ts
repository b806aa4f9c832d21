/**
 * What the auth server said of a credential and of the user it belongs to (an API key, a Digest secret, a session, a password that was
 * right), held in memory only. It is good as long as the user's principal record has not moved past the version it was read at: every
 * change of such a thing is a change of its principal, so the feed that keeps records fresh keeps these fresh too. Versions say nothing across
 * databases: when another one takes the place of the one it was said of, such as an older one from a backup, nothing is held any more.
 */
import { type BoundedCache, createBoundedCache } from '../../platform/cache/bounded-cache.ts'
import type { Clock } from '../../platform/clock.ts'
import type { Traced } from '../../platform/http/trace.ts'
import type { PrincipalRecord } from '../principal/record.ts'
import type { Principals } from './authenticate.ts'

/** Something that belongs to a user. */
export interface OfUser {
  readonly username: string
  /** Immutable: another user of the same name, or the same name in another installation, has another. */
  readonly userId: string
  /** The version of the user's principal record in the same snapshot of the database, or an older one. */
  readonly version: number
}

export interface HeldCredentials<Value extends OfUser> {
  /** What is held and known to be good at this moment: nobody has to wait for it. */
  peek(key: string, onBehalfOf?: Traced): Value | undefined
  /** What is held, or else what `load` brings; undefined when `load` finds nothing. @throws whatever `load` throws; Unavailable */
  get(key: string, load: () => Promise<Value | undefined>, onBehalfOf?: Traced): Promise<Value | undefined>
  /** What `load` brings, whatever is held, and holds that. @throws whatever `load` throws; Unavailable */
  renew(key: string, load: () => Promise<Value | undefined>, onBehalfOf?: Traced): Promise<Value | undefined>
  /** Replaces what is held. */
  set(key: string, value: Value): void
  delete(key: string): void
}

export interface HeldCredentialsOptions {
  readonly principals: Principals
  readonly clock: Clock
  /** So many are held, and so many bytes of them. */
  readonly maxEntries: number
  readonly maxBytes: number
  /** How long one is held at most, in milliseconds; without it, as long as there is room. */
  readonly ttlMs?: number
  /** How long a key for which `load` found nothing is not asked for again, in milliseconds; 1 000 when left out, 0 for always ask. */
  readonly unknownForMs?: number
}

const unknownBounds = { maxEntries: 10_000, maxBytes: 2_000_000 }

/** Nothing is held yet. Callers of one key share a load. */
export const holdCredentials = <Value extends OfUser>(options: HeldCredentialsOptions): HeldCredentials<Value> =>
  new HeldInMemory(options)

class HeldInMemory<Value extends OfUser> implements HeldCredentials<Value> {
  readonly #principals: Principals
  readonly #held: BoundedCache<Value>
  /** Undefined when what is not there is always asked for. */
  readonly #unknown: BoundedCache<true> | undefined
  readonly #loading = new Map<string, Promise<Value | undefined>>()
  #installations = 0

  constructor({ principals, unknownForMs = 1_000, ...options }: HeldCredentialsOptions) {
    const { clock } = options
    this.#principals = principals
    this.#held = createBoundedCache(options)
    if (unknownForMs > 0) this.#unknown = createBoundedCache({ ...unknownBounds, ttlMs: unknownForMs, clock })
    principals.onOtherInstallation?.(() => {
      this.#installations += 1
      for (const known of [this.#held, this.#unknown, this.#loading]) known?.clear()
    })
  }

  peek(key: string, onBehalfOf?: Traced): Value | undefined {
    const value = this.#held.get(key)
    const record = value && this.#principals.get(value.username, onBehalfOf)
    // A record that is on its way: whoever goes on to `get` shares it.
    if (record instanceof Promise) void record.catch(() => undefined)
    else if (value && isOf(value, record)) return value
    return undefined
  }

  async get(key: string, load: () => Promise<Value | undefined>, onBehalfOf?: Traced): Promise<Value | undefined> {
    const value = this.#held.get(key)
    if (value && (await this.#isGood(value, this.#installations, onBehalfOf))) return value
    if (value) this.#held.delete(key)
    else if (this.#unknown?.has(key)) return undefined
    return this.renew(key, load, onBehalfOf)
  }

  async renew(key: string, load: () => Promise<Value | undefined>, onBehalfOf?: Traced): Promise<Value | undefined> {
    const then = this.#installations
    const loaded = await this.#loadOnce(key, load)
    if (!loaded || (await this.#isGood(loaded, then, onBehalfOf))) return loaded
    // The load was under way already when the record, or the whole database, changed.
    this.#held.delete(key)
    return this.#loadOnce(key, load)
  }

  set(key: string, value: Value): void {
    this.#unknown?.delete(key)
    this.#held.set(key, value)
  }

  delete(key: string): void {
    this.#held.delete(key)
  }

  /** For what was held or being loaded when there had been so many installations. */
  async #isGood(value: Value, then: number, onBehalfOf: Traced | undefined): Promise<boolean> {
    return (await isCurrent(value, this.#principals, onBehalfOf)) && then === this.#installations
  }

  #loadOnce(key: string, load: () => Promise<Value | undefined>): Promise<Value | undefined> {
    const underWay = this.#loading.get(key)
    if (underWay) return underWay
    const then = this.#installations
    const started = load()
      .then((value) => {
        if (then !== this.#installations) return value
        if (value) this.#held.set(key, value)
        else this.#unknown?.set(key, true)
        return value
      })
      .finally(() => this.#loading.get(key) === started && this.#loading.delete(key))
    this.#loading.set(key, started)
    return started
  }
}

/** True while its user's record has not moved past it. A user that is gone or disabled is the record's business, which refuses it. */
export const isCurrent = async (value: OfUser, principals: Principals, onBehalfOf?: Traced): Promise<boolean> =>
  isOf(value, await principals.get(value.username, onBehalfOf))

const isOf = ({ userId, version }: OfUser, record: PrincipalRecord | undefined): boolean =>
  record === undefined || (record.userId === userId && record.version <= version)
