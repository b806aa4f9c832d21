import { ProblemError } from '../../shared/platform/problems/errors.ts'
import type { Caller } from '../../shared/protocol/authentication/authenticate.ts'
import type { Deal } from '../domain/deal.ts'
import { type Owned, owns, reaches, widthOf } from '../domain/own-deals.ts'
import { readingRight } from '../use-cases/define-use-case.ts'
import { restoreDeal } from '../use-cases/restore-deal.ts'

/** A deal, or what is read of it. */
type Deletable = Pick<Deal, 'deletedAt' | 'purgeAt'>

/** True for a deal that exists and is not deleted. */
export const isPresent = <Found extends Deletable>(deal: Found | undefined): deal is Found =>
  deal !== undefined && deal.deletedAt === null

/** The deal, unless it is deleted. */
export const presentOf = (deal: Deal | undefined): Deal | undefined => (isPresent(deal) ? deal : undefined)

/** True for a caller who may see this deleted deal. */
export const seesDeletion = (caller: Caller, deal: Owned): boolean => reaches(caller, restoreDeal.right, deal)

/** True for a deal of somebody else, when the caller has reading, or one of these rights, for own deals alone. */
export const isForeign = (deal: Owned, caller: Caller, rights: readonly string[] = []): boolean =>
  widthOf(caller.rights, readingRight) !== 'all' &&
  [readingRight, ...rights].some((right) => widthOf(caller.rights, right) === 'own') &&
  !owns(caller, deal)

/** The refusal for a missing deal. A caller who may restore deals gets the times of a deletion. */
export function noSuchDeal(
  deal: (Deletable & Owned) | undefined,
  { dealId, caller }: { dealId: string; caller: Caller },
) {
  const mayKnow = deal !== undefined && seesDeletion(caller, deal)
  const deletion = mayKnow ? { deletedAt: deal.deletedAt, purgeAt: deal.purgeAt } : {}
  const remedy = mayKnow ? 'It was deleted; RestoreDeal brings it back.' : 'CreateDeal makes one.'
  return new ProblemError('not-found', `There is no such deal. ${remedy}`, { members: { dealId, ...deletion } })
}
