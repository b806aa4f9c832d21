import { givenAway, owns } from '../domain/own-deals.ts'
import type { Sight } from '../domain/sight.ts'
import type { LoggedEvent } from './event-log.ts'

/**
 * An event as a user sees it, or undefined. Who sees own deals alone sees the events of those that the user owns now,
 * and of others the notice that they were given away. Of a deleted deal, who does not see it sees the deletion and what
 * is new, but no past events.
 */
export function seenBy({ user, deals, deleted }: Sight, event: LoggedEvent): LoggedEvent | undefined {
  if (deals === undefined) return undefined
  const isOwn = event.owner != null && owns(user, event.owner)
  if (deals === 'own' && !isOwn) {
    if (event.type !== 'deal.owner-assigned' || event.data.oldUserId !== user.userId) return undefined
    return { ...event, type: givenAway, data: {} }
  }
  return !event.isHidden || deleted === 'all' || (deleted === 'own' && isOwn) ? event : undefined
}
