/**
 * The client prefixes from which an account has logged in within 30 days. Limits of several prefixes together do not
 * apply to them, so that a stranger elsewhere cannot lock an account out from the address that its owner uses. Known in
 * this process, and in the cache for the others.
 */
import { createBoundedCache } from '../../platform/cache/bounded-cache.ts'
import type { Cache } from '../../platform/cache/cache.ts'
import type { Clock } from '../../platform/clock.ts'
import { ignoreUnavailable } from '../../platform/problems/errors.ts'
import type { AttemptKeys } from './attempt-keys.ts'

interface KnownClientsOptions {
  readonly cache: Cache
  readonly clock: Clock
}

/** A client is forgotten after this time without a login, in seconds. */
const knownForSeconds = 30 * 86_400

/** How often a login is written to the cache again, in milliseconds. */
const renewalIntervalMs = 86_400_000

const remembered = { maxEntries: 50_000, maxBytes: 16_000_000, ttlMs: knownForSeconds * 1000 }

/** No client is known in this process at first. */
export function createKnownClients({ cache, clock }: KnownClientsOptions) {
  /** The time of this process's last write to the cache, or minus infinity. */
  const writtenAt = createBoundedCache<number>({ ...remembered, clock })
  /** True when the client is known in this process. */
  const has = ({ successes: [name] }: AttemptKeys): boolean => name !== undefined && writtenAt.has(name)
  const write = async (names: readonly string[]) => {
    const mark = { version: 1, value: '' }
    const written = names.map((name) => cache.putVersioned(name, mark, { ttlSeconds: knownForSeconds }))
    await Promise.all(written).catch(ignoreUnavailable)
  }
  return {
    has,
    /** Looks in the cache, too. */
    find: async (client: AttemptKeys): Promise<boolean> => {
      const [name] = client.successes
      if (name === undefined) return false
      if (has(client)) return true
      const found = await Promise.all(client.knownBy.map((each) => cache.getVersioned(each))).catch(ignoreUnavailable)
      const isKnown = found?.some((mark) => mark !== undefined) ?? false
      if (isKnown) writtenAt.set(name, Number.NEGATIVE_INFINITY)
      return isKnown
    },
    /** Remembers a login of the account from this client; undefined when the caller need not wait. */
    remember: ({ successes }: AttemptKeys): Promise<void> | undefined => {
      const [name] = successes
      if (name === undefined) return undefined
      const now = clock.monotonic()
      if (now - (writtenAt.get(name) ?? Number.NEGATIVE_INFINITY) < renewalIntervalMs) return undefined
      writtenAt.set(name, now)
      return write(successes)
    },
  }
}
