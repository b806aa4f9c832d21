import { givenAway, owns, type UserIdentity, widthOf } from '../domain/own-deals.ts'
import type { LoggedEvent } from './event-log.ts'

/** The part of the log that a caller may see. */
export interface Visibility {
  /**
   * Whether past events of deleted deals are visible too; for a user, those of deals that this user owns. Of the others
   * only the deletion is. New events are always visible.
   */
  readonly seesDeleted: boolean | UserIdentity
  /** Set for a caller who reads own deals alone: the caller. */
  readonly own?: UserIdentity | undefined
}

/** What `Visibility.seesDeleted` is for a user. `restoring` is the right to see deleted deals. */
export function deletedSeenBy(
  { username, userId, rights }: UserIdentity & { readonly rights: ReadonlySet<string> },
  restoring: string,
): Visibility['seesDeleted'] {
  const width = widthOf(rights, restoring)
  return width === 'own' ? { username, userId } : width === 'all'
}

/**
 * An event as a caller sees it, or undefined. A caller who reads own deals alone sees those of deals which the caller
 * owns now, and of others the notice that they were given away.
 */
export function seenBy({ own, seesDeleted }: Visibility, event: LoggedEvent): LoggedEvent | undefined {
  const isOwnedBy = (user: UserIdentity) => event.owner != null && owns(user, event.owner)
  if (own && !isOwnedBy(own)) {
    if (event.type !== 'deal.owner-assigned' || event.data.oldUserId !== own.userId) return undefined
    return { ...event, type: givenAway, data: {} }
  }
  const isShown = !event.isHidden || (typeof seesDeleted === 'boolean' ? seesDeleted : isOwnedBy(seesDeleted))
  return isShown ? event : undefined
}
