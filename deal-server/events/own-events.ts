import { givenAway, owns, type UserIdentity } from '../domain/own-deals.ts'
import type { LoggedEvent } from './event-log.ts'

/**
 * An event as a user sees it who reads own deals alone: that of a deal which the user owns now, or the notice that an
 * own deal was given away; undefined for all others.
 */
export function seenByOwner(user: UserIdentity, event: LoggedEvent): LoggedEvent | undefined {
  if (event.owner && owns(user, event.owner)) return event
  if (event.type !== 'deal.owner-assigned' || event.data.oldUserId !== user.userId) return undefined
  return { ...event, type: givenAway, data: {} }
}
