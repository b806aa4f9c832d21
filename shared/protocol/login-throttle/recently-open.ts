/**
 * For which accounts and clients no limit was exhausted a moment ago: a client that proves one secret with each request is not looked up
 * in the cache for each of them. Any try from the same client prefix at this process ends that at once, before it is known whether it was
 * right. So of a client that has been locked out by way of other servers, at most one right guess is still answered here.
 */
import { createBoundedCache } from '../../platform/cache/bounded-cache.ts'
import type { Clock } from '../../platform/clock.ts'
import type { AttemptKeys } from './attempt-keys.ts'

type Client = Pick<AttemptKeys, 'prefix' | 'own'>

export interface LatelyOpen {
  has(client: Client): boolean
  /** Something is tried from there. */
  noteTry(client: Client): void
  /** Call it before the limits are looked at, and what it returns when they allow a try. */
  look(client: Client): () => void
}

/** What is remembered is good for so long, in milliseconds. */
const openForMs = 200

const remembered = { maxEntries: 10_000, maxBytes: 4_000_000 }

/** Nothing is remembered yet. */
export function createLatelyOpen({ monotonic }: Pick<Clock, 'monotonic'>): LatelyOpen {
  /** By client prefix: which of all tries its latest was. */
  const latest = createBoundedCache<number>(remembered)
  const open = createBoundedCache<{ readonly latest: number; readonly until: number }>(remembered)
  let tries = 0
  const noteTry = ({ prefix }: Client) => {
    tries += 1
    latest.set(prefix, tries)
    return tries
  }
  const nameOf = ({ own }: Client) => own[0]?.key ?? ''
  return {
    has: (client) => {
      const known = open.get(nameOf(client))
      return known !== undefined && monotonic() <= known.until && latest.get(client.prefix) === known.latest
    },
    noteTry,
    look: (client) => {
      const then = latest.get(client.prefix) ?? noteTry(client)
      return () => open.set(nameOf(client), { latest: then, until: monotonic() + openForMs })
    },
  }
}
