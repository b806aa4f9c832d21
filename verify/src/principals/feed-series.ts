/** Puts series of the change feed together: a message that came in parts counts when none of them is missing. */
import { createBoundedCache } from '../../../shared/platform/cache/bounded-cache.ts'
import type { FeedPart } from '../../../shared/protocol/principal/change-feed.ts'

/** Several auth servers may send a series at the same time. */
const maxSeries = 64

/** The series that are under way. */
export class FeedSeries {
  /** The number of the part that comes next. */
  readonly #next = createBoundedCache<number>({ maxEntries: maxSeries, maxBytes: 64_000 })

  /** Takes a part. The span of the series when it is the last one, and all before it have come in their order. */
  add({ series, part, end }: FeedPart): FeedPart['end'] {
    const isNext = part === 1 || this.#next.get(series) === part
    this.#next.delete(series)
    if (!isNext) return undefined
    if (end === undefined) this.#next.set(series, part + 1)
    return end
  }

  clear(): void {
    this.#next.clear()
  }
}
