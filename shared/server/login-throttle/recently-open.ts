/**
 * The accounts and clients for which no limit was exhausted a moment ago: a client that proves one secret with each
 * request does not need a look-up in the cache for each of them. Any attempt from the same client prefix at this
 * process ends that at once, before its outcome is known. So a client that other servers have locked out gets at most
 * one right attempt accepted here.
 */
import { createBoundedCache } from '../../platform/cache/bounded-cache.ts'
import type { Clock } from '../../platform/clock.ts'
import type { AttemptKeys } from './attempt-keys.ts'

/** How long an entry is valid, in milliseconds. */
const openForMs = 200

const remembered = { maxEntries: 10_000, maxBytes: 4_000_000 }

/** No client is remembered at first. */
export function createRecentlyOpen({ monotonic }: Clock) {
  /** The number of the latest attempt, by client prefix. */
  const latest = createBoundedCache<number>(remembered)
  const open = createBoundedCache<{ readonly latest: number; readonly until: number }>(remembered)
  let tries = 0
  /** Notes an attempt of this client. */
  const noteTry = ({ prefix }: AttemptKeys): number => {
    tries += 1
    latest.set(prefix, tries)
    return tries
  }
  const nameOf = ({ own }: AttemptKeys) => own[0]?.key ?? ''
  return {
    /** True when the client was below its limits a moment ago. */
    has: (client: AttemptKeys): boolean => {
      const known = open.get(nameOf(client))
      return known !== undefined && monotonic() <= known.until && latest.get(client.prefix) === known.latest
    },
    noteTry,
    /** Call this before the limits are checked, and call its result when they allow an attempt. */
    look: (client: AttemptKeys): (() => void) => {
      const then = latest.get(client.prefix) ?? noteTry(client)
      return () => open.set(nameOf(client), { latest: then, until: monotonic() + openForMs })
    },
  }
}
