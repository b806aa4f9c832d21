import type { EventLog, EventPage, ReadOptions } from './event-log.ts'
import type { Place } from './position.ts'

/**
 * The same log. Callers that read from one place at one time share a read: a wake-up wakes all webhooks of a server,
 * and those that have caught up are at one place.
 */
export function createSharedReads(log: Pick<EventLog, 'read'>): Pick<EventLog, 'read'> {
  const underWay = new Map<string, Promise<EventPage>>()
  return {
    read: (after: Place, options: ReadOptions) => {
      const key = JSON.stringify([after.position, options.limit, options.hidesDeleted])
      const known = underWay.get(key)
      if (known) return known
      const reading = log.read(after, options).finally(() => underWay.delete(key))
      underWay.set(key, reading)
      return reading
    },
  }
}
