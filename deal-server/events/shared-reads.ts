import { createSharedCalls } from '../../shared/platform/concurrency/share-calls.ts'
import type { EventLog, EventPage, ReadOptions } from './event-log.ts'
import type { Place } from './position.ts'

/**
 * The same log. Callers that read from one place at one time share a read: a wake-up wakes all webhooks of a server,
 * and those that have caught up are at one place.
 */
export function createSharedReads(log: EventLog): EventLog {
  const reads = createSharedCalls<EventPage>()
  return {
    ...log,
    read: (after: Place, options: ReadOptions) => {
      const key = JSON.stringify([after.position, options.limit, options.hidesDeleted])
      return reads.share(key, () => log.read(after, options))
    },
  }
}
