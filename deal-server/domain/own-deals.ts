/**
 * The two widths of a right of deals: `deal.hold` is for all deals, `deal.hold:own` for those that the caller owns. A
 * caller who has both has the wider one (docs/contract/accounts.md#own-deals). `store/deal-conditions.ts` has the same
 * predicate for sets of deals.
 */
import { timeOfId } from '../../shared/platform/ids.ts'
import type { Deal } from './deal.ts'

/** A user by name and immutable id. */
export interface UserIdentity {
  /** In the spelling of its creation. */
  readonly username: string
  /** Immutable: when a name is used again for a new user, that user has another id. */
  readonly userId: string
}

/** How far a right of a caller reaches. */
export type Width = 'all' | 'own'

/** The parts of a deal that say whose it is. */
export type Owned = Pick<Deal, 'ownerId' | 'ownerUserId' | 'createdAt'>

/** What a reader of own deals gets when one of them is given to another user: the id of the deal, and nothing else. */
export const givenAway = 'deal.given-away'

type Rights = ReadonlySet<string>

/** The narrower form of a right. */
export const ownWidth = (right: string): string => `${right}:own`

/** Rights of deals alone have a narrower form. Another right with such a name is another right. */
const isOfDeals = (right: string): boolean => right.startsWith('deal.')

/** How far these rights reach; undefined: not at all. */
export function widthOf(rights: Rights, right: string): Width | undefined {
  if (rights.has(right)) return 'all'
  return isOfDeals(right) && rights.has(ownWidth(right)) ? 'own' : undefined
}

/**
 * True for the user who owns the deal, false for another user who has the name now. An old deal has no user id: then
 * true for a user who existed when the deal was made, by the time in the user's id.
 */
export function owns({ username, userId }: UserIdentity, { ownerId, ownerUserId, createdAt }: Owned): boolean {
  if (ownerId.toLowerCase() !== username.toLowerCase()) return false
  return ownerUserId == null ? timeOfId(userId) <= Date.parse(createdAt) : ownerUserId === userId
}

/** True when a right of the caller reaches this deal. */
export function reaches(caller: UserIdentity & { readonly rights: Rights }, right: string, deal: Owned): boolean {
  const width = widthOf(caller.rights, right)
  return width === 'all' || (width === 'own' && owns(caller, deal))
}
