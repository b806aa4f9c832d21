/**
 * Until when the attempts on an account are refused, for whoever administers it. Known from the latest refusal, which
 * every server notes in the cache.
 */
import { createHmac } from 'node:crypto'
import { createBoundedCache } from '../../platform/cache/bounded-cache.ts'
import { type Cache, cacheKey } from '../../platform/cache/cache.ts'
import type { Clock } from '../../platform/clock.ts'
import { deriveKey } from '../../platform/crypto/derive-key.ts'
import { ignoreUnavailable } from '../../platform/problems/errors.ts'
import { foldUsername } from '../../protocol/principal/record.ts'

/** The systems that locks use. */
export interface AccountLocksOptions {
  readonly cache: Cache
  readonly clock: Clock
  /** SERVICE_SECRET: all that are accepted. */
  readonly secrets: readonly string[]
  /** The throttle generation of an account; undefined for an unknown one. Absent: counts never start over. */
  throttleGenerationOf?(account: string): Promise<number | undefined>
}

/** What an administrator asks. */
export interface AccountLocks {
  /**
   * The end of the latest lock of this account, in milliseconds; undefined when there is none now. A lock is known from
   * the first refused attempt, and while the cache is away to the process that refused it. @throws Unavailable
   */
  lockedUntil(account: string): Promise<number | undefined>
}

/** The locks, as the throttle notes them. */
export interface NotedLocks extends AccountLocks {
  /** The generation under which failures of this account count. */
  generationOf(account: string): Promise<number>
  /** True when this process has noted a lock of this account that lasts as long, to a second. */
  isNoted(account: string, lock: Lock): boolean
  /** An attempt on this account was refused, as others will be in this time. */
  note(account: string, lock: Lock): Promise<void>
}

interface Lock {
  readonly generation: number
  readonly forMs: number
}

const remembered = { maxEntries: 10_000, maxBytes: 4_000_000 }

/** Ends that are closer to each other count as the same: a refusal names its wait in whole seconds. */
const exactToMs = 2_000

/** Locks over a cache. */
export function createAccountLocks({ cache, clock, secrets, ...options }: AccountLocksOptions): NotedLocks {
  const hmacKeys = secrets.map((secret) => deriveKey(secret, 'locked accounts'))
  // Names are not readable in the cache, and after a new password or an unlock the lock is not found.
  const keysOf = (account: string, generation: number): string[] =>
    hmacKeys.map((hmacKey) => {
      const parts = JSON.stringify([foldUsername(account), generation])
      const name = createHmac('sha256', hmacKey).update(parts).digest('base64url')
      return cacheKey(`locked:${name}`)
    })
  const generationOf = async (account: string) => (await options.throttleGenerationOf?.(account)) ?? 1
  /** The ends that this process has noted, by key. */
  const noted = createBoundedCache<number>(remembered)
  const ends = (keys: readonly string[]) => Math.max(...keys.map((key) => noted.get(key) ?? 0))
  return {
    generationOf,
    isNoted: (account, { generation, forMs }) => ends(keysOf(account, generation)) >= clock.now() + forMs - exactToMs,
    note: async (account, { generation, forMs }) => {
      const keys = keysOf(account, generation)
      const until = Math.ceil(clock.now() + forMs)
      for (const key of keys) noted.set(key, Math.max(until, ends(keys)))
      // The latest end has the highest version.
      const life = { ttlSeconds: Math.ceil(forMs / 1000) }
      const written = keys.map((key) => cache.putVersioned(key, { version: until, value: '' }, life))
      await Promise.all(written).catch(ignoreUnavailable)
    },
    lockedUntil: async (account) => {
      const keys = keysOf(account, await generationOf(account))
      const locks = await Promise.all(keys.map((key) => cache.getVersioned(key))).catch(ignoreUnavailable)
      const until = Math.max(ends(keys), ...(locks ?? []).map((lock) => lock?.version ?? 0))
      return until > clock.now() ? until : undefined
    },
  }
}
