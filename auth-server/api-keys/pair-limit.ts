import { createBoundedCache } from '../../shared/platform/cache/bounded-cache.ts'
import type { Clock } from '../../shared/platform/clock.ts'
import { ProblemError } from '../../shared/platform/problems/errors.ts'

const minuteMs = 60_000

/** How many users are counted at a time. An entry has the id of a user and the times of the last minute. */
const room = { maxEntries: 10_000, maxBytes: 4_000_000 }

/**
 * Counts the new RSA pairs of users, at most `pairsPerMinute` in any minute for each, because a pair costs much CPU
 * time. Counts in this process. The function throws ProblemError `too-many-key-pairs` with `retryAfterSeconds`.
 */
export function createPairLimit({ clock, pairsPerMinute }: { clock: Clock; pairsPerMinute: number }) {
  const made = createBoundedCache<readonly number[]>({ ...room, ttlMs: minuteMs, clock })
  return (userId: string): void => {
    const now = clock.monotonic()
    const recent = (made.get(userId) ?? []).filter((at) => at > now - minuteMs)
    const [first = now] = recent
    if (recent.length >= pairsPerMinute) {
      const retryAfterSeconds = Math.max(1, Math.ceil((first + minuteMs - now) / 1000))
      const detail = `At most ${pairsPerMinute} RSA pairs a minute are made for one user.`
      throw new ProblemError('too-many-key-pairs', detail, { retryAfterSeconds })
    }
    made.set(userId, [...recent, now])
  }
}
