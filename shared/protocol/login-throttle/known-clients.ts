/**
 * From which client prefixes an account has logged in lately. What counts several prefixes together spares these, so that no stranger
 * elsewhere locks an account out from where its owner uses it. Known in this process, and in the cache for the others.
 */
import { createBoundedCache } from '../../platform/cache/bounded-cache.ts'
import type { Cache } from '../../platform/cache/cache.ts'
import type { Clock } from '../../platform/clock.ts'
import { Unavailable } from '../../platform/problems/errors.ts'
import type { AttemptKeys } from './attempt-keys.ts'

export interface KnownClientsOptions {
  readonly cache: Pick<Cache, 'putVersioned' | 'getVersioned'>
  readonly clock: Clock
}

type Client = Pick<AttemptKeys, 'successes'>

export interface KnownClients {
  /** True when it is known in this process: nobody has to wait for that. */
  has(client: Client): boolean
  /** Looks into the cache too. */
  find(client: Client): Promise<boolean>
  /** The account has logged in from there; undefined when there is nothing to wait for. */
  remember(client: Client): Promise<void> | undefined
}

/** A month without a login, and a client is a stranger again. */
const knownForSeconds = 30 * 86_400

/** How often the cache is told that it was there again, in milliseconds. */
const renewedEveryMs = 86_400_000

const remembered = { maxEntries: 50_000, maxBytes: 16_000_000, ttlMs: knownForSeconds * 1000 }

/** Nobody is known yet in this process. */
export function createKnownClients({ cache, clock }: KnownClientsOptions): KnownClients {
  /** When the cache was told by this process, if ever. */
  const toldAt = createBoundedCache<number>({ ...remembered, clock })
  const has = ({ successes: [name] }: Client) => name !== undefined && toldAt.has(name)
  const tell = async (names: readonly string[]) => {
    const mark = { version: 1, value: '' }
    const told = names.map((name) => cache.putVersioned(name, mark, { ttlSeconds: knownForSeconds }))
    await Promise.all(told).catch(passIfAway)
  }
  return {
    has,
    find: async (client) => {
      const { successes } = client
      const [name] = successes
      if (name === undefined) return false
      if (has(client)) return true
      const found = await Promise.all(successes.map((each) => cache.getVersioned(each))).catch(passIfAway)
      const isKnown = found?.some((mark) => mark !== undefined) ?? false
      if (isKnown) toldAt.set(name, Number.NEGATIVE_INFINITY)
      return isKnown
    },
    remember: ({ successes }) => {
      const [name] = successes
      if (name === undefined) return undefined
      const now = clock.monotonic()
      if (now - (toldAt.get(name) ?? Number.NEGATIVE_INFINITY) < renewedEveryMs) return undefined
      toldAt.set(name, now)
      return tell(successes)
    },
  }
}

/** Without the cache, this process alone knows. */
function passIfAway(error: unknown): undefined {
  if (!(error instanceof Unavailable)) throw error
}
