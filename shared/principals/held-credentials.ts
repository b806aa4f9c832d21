/**
 * What the auth server said of a credential and of the user it belongs to (an API key, a Digest secret, a session, a password that was
 * right), held in memory only. It is good as long as the user's principal record has not moved past the version it was read at: every
 * change of such a thing is a change of its principal, so the feed that keeps records fresh keeps these fresh too. Versions say nothing across
 * databases: when another one takes the place of the one it was said of, such as an older one from a backup, nothing is held any more.
 */
import { LRUCache } from 'lru-cache'
import type { Clock } from '../clock.ts'
import type { Principals } from '../schemes/authenticate.ts'

/** Something that belongs to a user. */
export interface OfUser {
  readonly username: string
  /** Immutable: another user of the same name, or the same name in another installation, has another. */
  readonly userId: string
  /** The version of the user's principal record in the same snapshot of the database, or an older one. */
  readonly version: number
}

export interface HeldCredentials<Value extends OfUser> {
  /** What is held, or else what `load` brings; undefined when `load` finds nothing. @throws whatever `load` throws; Unavailable */
  get(key: string, load: () => Promise<Value | undefined>): Promise<Value | undefined>
  /** Replaces what is held. */
  set(key: string, value: Value): void
  delete(key: string): void
}

export interface HeldCredentialsOptions {
  readonly principals: Principals
  readonly clock: Clock
  /** So many are held. */
  readonly max: number
  /** How long one is held at most, in milliseconds; without it, as long as there is room. */
  readonly ttlMs?: number
  /** How long a key for which `load` found nothing is not asked for again, in milliseconds; 1 000 when left out, 0 for always ask. */
  readonly unknownForMs?: number
}

const maxUnknown = 10_000

/** Nothing is held yet. Callers of one key share a load. */
export function holdCredentials<Value extends OfUser>(options: HeldCredentialsOptions): HeldCredentials<Value> {
  const { principals, clock, max, ttlMs, unknownForMs = 1_000 } = options
  const perf = { now: clock.monotonic }
  const held = new LRUCache<string, Value>({
    max,
    perf,
    ttlResolution: 0,
    ...(ttlMs === undefined ? {} : { ttl: ttlMs }),
  })
  const unknown = new LRUCache<string, true>({
    max: maxUnknown,
    ttl: Math.max(1, unknownForMs),
    ttlResolution: 0,
    perf,
  })
  const loading = new Map<string, Promise<Value | undefined>>()
  let installations = 0
  principals.onOtherInstallation?.(() => {
    installations += 1
    for (const known of [held, unknown, loading]) known.clear()
  })
  /** For what was held or being loaded when there had been so many installations. */
  const isGood = async (value: Value, then: number) => (await isCurrent(value, principals)) && then === installations

  const loadOnce = (key: string, load: () => Promise<Value | undefined>): Promise<Value | undefined> => {
    const underWay = loading.get(key)
    if (underWay) return underWay
    const then = installations
    const started = load()
      .then((value) => {
        if (then !== installations) return value
        if (value) held.set(key, value)
        else if (unknownForMs > 0) unknown.set(key, true)
        return value
      })
      .finally(() => loading.get(key) === started && loading.delete(key))
    loading.set(key, started)
    return started
  }

  return {
    get: async (key, load) => {
      const value = held.get(key)
      if (value && (await isGood(value, installations))) return value
      if (value) held.delete(key)
      else if (unknown.has(key)) return undefined
      const then = installations
      const loaded = await loadOnce(key, load)
      if (!loaded || (await isGood(loaded, then))) return loaded
      // The load was under way already when the record, or the whole database, changed.
      held.delete(key)
      return loadOnce(key, load)
    },
    set: (key, value) => {
      unknown.delete(key)
      held.set(key, value)
    },
    delete: (key) => void held.delete(key),
  }
}

/** True while its user's record has not moved past it. A user that is gone or disabled is the record's business, which refuses it. */
export async function isCurrent({ username, userId, version }: OfUser, principals: Principals): Promise<boolean> {
  const record = await principals.get(username)
  return record === undefined || (record.userId === userId && record.version <= version)
}
