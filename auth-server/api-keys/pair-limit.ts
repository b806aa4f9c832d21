import { createBoundedCache } from '../../shared/platform/cache/bounded-cache.ts'
import type { Clock } from '../../shared/platform/clock.ts'
import { ProblemError } from '../../shared/platform/problems/errors.ts'

const minuteMs = 60_000

/** So many users are counted at a time; each entry is an id and the times of its minute. */
const room = { maxEntries: 10_000, maxBytes: 4_000_000 }

/** Counts an RSA pair that this user has made. @throws ProblemError `too-many-key-pairs` with `retryAfterSeconds` */
export type CountPair = (userId: string) => void

/** At most `pairsPerMinute` pairs for one user in any minute: each costs much computing time. Counts in this process. */
export function createPairLimit({ clock, pairsPerMinute }: { clock: Clock; pairsPerMinute: number }): CountPair {
  const made = createBoundedCache<readonly number[]>({ ...room, ttlMs: minuteMs, clock })
  return (userId) => {
    const now = clock.monotonic()
    const recent = (made.get(userId) ?? []).filter((at) => at > now - minuteMs)
    const [first = now] = recent
    if (recent.length >= pairsPerMinute) {
      const retryAfterSeconds = Math.max(1, Math.ceil((first + minuteMs - now) / 1000))
      throw new ProblemError(
        'too-many-key-pairs',
        `At most ${pairsPerMinute} RSA pairs a minute are made for one user.`,
        {
          retryAfterSeconds,
        },
      )
    }
    made.set(userId, [...recent, now])
  }
}
