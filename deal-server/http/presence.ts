import { Refused } from '../../shared/errors.ts'
import type { Caller } from '../../shared/schemes/authenticate.ts'
import type { Deal } from '../domain/deal.ts'

/** True for a deal that is there and not deleted. */
export const isPresent = (deal: Deal | undefined): deal is Deal => deal !== undefined && deal.deletedAt === null

/** The deal, unless it is deleted. */
export const presentOf = (deal: Deal | undefined): Deal | undefined => (isPresent(deal) ? deal : undefined)

/** @throws Refused `not-found`; whoever may restore a deleted deal learns that it was deleted */
export function requirePresent(deal: Deal | undefined, asked: { dealId: string; caller: Caller }): Deal {
  if (isPresent(deal)) return deal
  throw noSuchDeal(deal, asked)
}

/** The refusal for a deal that is not there. */
export function noSuchDeal(deal: Deal | undefined, { dealId, caller }: { dealId: string; caller: Caller }) {
  const mayKnow = deal !== undefined && caller.rights.has('deal.restore')
  const deletion = mayKnow ? { deletedAt: deal.deletedAt, purgeAt: deal.purgeAt } : {}
  const remedy = mayKnow ? 'It was deleted; RestoreDeal brings it back.' : 'CreateDeal makes one.'
  return new Refused('not-found', `There is no such deal. ${remedy}`, { members: { dealId, ...deletion } })
}
