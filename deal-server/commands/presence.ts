import { ProblemError } from '../../shared/platform/problems/errors.ts'
import type { Caller } from '../../shared/protocol/authentication/authenticate.ts'
import type { Deal } from '../domain/deal.ts'
import type { Owned } from '../domain/own-deals.ts'
import { seesDeleted, sightOf } from '../domain/sight.ts'

/** A deal, or what is read of it. */
type Deletable = Pick<Deal, 'deletedAt' | 'purgeAt'>

/** True for a deal that exists and is not deleted. */
export const isPresent = <Found extends Deletable>(deal: Found | undefined): deal is Found =>
  deal !== undefined && deal.deletedAt === null

/** The deal, unless it is deleted. */
export const presentOf = (deal: Deal | undefined): Deal | undefined => (isPresent(deal) ? deal : undefined)

/** The refusal for a missing deal. A caller who may restore deals gets the times of a deletion. */
export function noSuchDeal(
  deal: (Deletable & Owned) | undefined,
  { dealId, caller }: { dealId: string; caller: Caller },
) {
  const mayKnow = deal !== undefined && seesDeleted(sightOf(caller), deal)
  const deletion = mayKnow ? { deletedAt: deal.deletedAt, purgeAt: deal.purgeAt } : {}
  const remedy = mayKnow ? 'It was deleted; RestoreDeal brings it back.' : 'CreateDeal makes one.'
  return new ProblemError('not-found', `There is no such deal. ${remedy}`, { members: { dealId, ...deletion } })
}
