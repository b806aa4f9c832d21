import type { EventLog, EventPage, Place, ReadOptions } from './event-log.ts'

/**
 * The same log. Callers that read from one place at one time share a read: a wake-up wakes all webhooks of a server,
 * and all workers of a machine, and those that have caught up are at one place.
 */
export function createSharedReads(log: Pick<EventLog, 'read'>): Pick<EventLog, 'read'> {
  const underWay = new Map<string, Promise<EventPage>>()
  return {
    read: ({ slice, turn, position }: Place, options: ReadOptions) => {
      const key = JSON.stringify([slice, turn, position, options.limit, options.hidesDeleted])
      const known = underWay.get(key)
      if (known) return known
      const reading = log.read({ slice, turn, position }, options).finally(() => underWay.delete(key))
      underWay.set(key, reading)
      return reading
    },
  }
}
