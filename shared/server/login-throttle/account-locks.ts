/**
 * Until when the attempts on an account are refused, for whoever administers it. Known from the latest refusal, which
 * every server notes in the cache.
 */
import { createHmac } from 'node:crypto'
import type { Cache } from '../../platform/cache/cache.ts'
import { laneKey, laneOf } from '../../platform/cache/lanes.ts'
import type { Clock } from '../../platform/clock.ts'
import { deriveKey } from '../../platform/crypto/derive-key.ts'
import { Unavailable } from '../../platform/problems/errors.ts'
import { foldUsername } from '../../protocol/principal/record.ts'

/** The systems that locks use. */
export interface AccountLocksOptions {
  readonly cache: Pick<Cache, 'putVersioned' | 'getVersioned'>
  readonly clock: Pick<Clock, 'now'>
  /** SERVICE_SECRET: all that are accepted. */
  readonly secrets: readonly string[]
  /** The throttle generation of an account; undefined for an unknown one. Absent: none begins anew. */
  throttleGenerationOf?(account: string): Promise<number | undefined>
}

/** What an administrator asks. */
export interface AccountLocks {
  /**
   * The end of the latest lock of this account, in milliseconds; undefined when there is none now. A lock is known from
   * the first refused attempt. @throws Unavailable
   */
  lockedUntil(account: string): Promise<number | undefined>
}

/** The locks, as the throttle notes them. */
export interface NotedLocks extends AccountLocks {
  /** The generation under which failures of this account count. */
  generationOf(account: string): Promise<number>
  /** An attempt on this account was refused, as others will be in this time. */
  note(account: string, lock: { readonly generation: number; readonly forMs: number }): Promise<void>
}

/** Locks over a cache. */
export function createAccountLocks({ cache, clock, secrets, ...options }: AccountLocksOptions): NotedLocks {
  const hmacKeys = secrets.map((secret) => deriveKey(secret, 'locked accounts'))
  // Names are not readable in the cache, and after a new password or an unlock the lock is not found.
  const keysOf = (account: string, generation: number): string[] =>
    hmacKeys.map((hmacKey) => {
      const parts = JSON.stringify([foldUsername(account), generation])
      const name = createHmac('sha256', hmacKey).update(parts).digest('base64url')
      return laneKey(laneOf(name), `locked:${name}`)
    })
  const generationOf = async (account: string) => (await options.throttleGenerationOf?.(account)) ?? 1
  return {
    generationOf,
    note: async (account, { generation, forMs }) => {
      // The latest end has the highest version.
      const lock = { version: Math.ceil(clock.now() + forMs), value: '' }
      const life = { ttlSeconds: Math.ceil(forMs / 1000) }
      await Promise.all(keysOf(account, generation).map((key) => cache.putVersioned(key, lock, life))).catch(
        ignoreUnavailable,
      )
    },
    lockedUntil: async (account) => {
      const keys = keysOf(account, await generationOf(account))
      const locks = await Promise.all(keys.map((key) => cache.getVersioned(key)))
      const until = Math.max(...locks.map((lock) => lock?.version ?? 0))
      return until > clock.now() ? until : undefined
    },
  }
}

/** Without the cache, nobody can read the lock; it holds in this process. */
function ignoreUnavailable(error: unknown): undefined {
  if (!(error instanceof Unavailable)) throw error
}
