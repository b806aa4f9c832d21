/**
 * What a user sees of deals, from the rights of a caller: commands, queries, events and webhooks ask it, and none of
 * them looks at the width of a right itself (docs/contract/accounts.md#own-deals).
 */
import { type Owned, owns, type UserIdentity, type Width, widthOf } from './own-deals.ts'

/** The right to read deals. A caller without it sees only the outcomes of its own commands. */
export const readingRight = 'deal.read'
/** The right to restore deals. Nobody else sees deleted ones. */
export const restoringRight = 'deal.restore'

/** A user with the rights of a credential. */
export interface Viewer extends UserIdentity {
  readonly rights: ReadonlySet<string>
}

/** The deals that a user sees. */
export interface Sight {
  readonly user: UserIdentity
  /** The deals that exist; undefined: none of them. */
  readonly deals: Width | undefined
  /** Deleted deals; undefined: none of them. */
  readonly deleted: Width | undefined
}

/**
 * The sight of a user by these rights together. They show no deal that the user does not read: who reads own deals
 * alone sees own deals. Without any right, a query shows what is the user's own in any deal, such as tasks.
 */
export function sightOf({ username, userId, rights }: Viewer, needed: readonly string[] = [readingRight]): Sight {
  const widths = needed.map((right) => widthOf(rights, right))
  const isOwn = needed.length > 0 && [...widths, widthOf(rights, readingRight)].includes('own')
  const deals = widths.includes(undefined) ? undefined : isOwn ? 'own' : 'all'
  return { user: { username, userId }, deals, deleted: widthOf(rights, restoringRight) }
}

const isWithin = (width: Width | undefined, user: UserIdentity, deal: Owned): boolean =>
  width === 'all' || (width === 'own' && owns(user, deal))

/** True for a deal that the user sees. */
export const sees = ({ user, deals }: Sight, deal: Owned): boolean => isWithin(deals, user, deal)

/** True for a deal that the user sees when it is deleted. */
export const seesDeleted = ({ user, deleted }: Sight, deal: Owned): boolean => isWithin(deleted, user, deal)

/**
 * True for a deal of somebody else that counts as one that never was, because the user has reading, or one of these
 * rights, for own deals alone.
 */
export const isForeign = (viewer: Viewer, deal: Owned, rights: readonly string[] = []): boolean =>
  widthOf(viewer.rights, readingRight) !== 'all' &&
  [readingRight, ...rights].some((right) => widthOf(viewer.rights, right) === 'own') &&
  !owns(viewer, deal)

/** The user, when own deals are all that the user sees: a condition of statements. */
export const onlyOwnerOf = ({ user, deals }: Sight): UserIdentity | undefined => (deals === 'own' ? user : undefined)
