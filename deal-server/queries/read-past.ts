/** Decides whether a caller may read a deal or its past. Only callers who may restore deals see deleted deals. */
import type { Caller } from '../../shared/protocol/authentication/authenticate.ts'
import { isPresent, noSuchDeal } from '../commands/presence.ts'
import type { Deal } from '../domain/deal.ts'
import type { Owned } from '../domain/own-deals.ts'
import { seesDeleted, sightOf } from '../domain/sight.ts'
import type { DealReader } from './ports.ts'

/** The requested deal and the caller. */
interface DealRead {
  readonly dealId: string
  readonly caller: Caller
}

/** @throws ProblemError `not-found`; it shows the deletion to a caller who may restore the deal */
export function requirePresent<Found extends Pick<Deal, 'deletedAt' | 'purgeAt'> & Owned>(
  deal: Found | undefined,
  read: DealRead,
): Found {
  if (isPresent(deal)) return deal
  throw noSuchDeal(deal, read)
}

/**
 * True when the caller may read the history and the commands of a deal. Those of a deleted or purged deal need the
 * right to restore deals.
 */
export async function mayReadPast(
  reader: Pick<DealReader, 'load' | 'owner'>,
  { dealId, caller }: DealRead,
): Promise<boolean> {
  const sight = sightOf(caller)
  if (!reader.owner && sight.deleted === 'all') return true
  const { deal, purged } = await reader.load(dealId, undefined, { forCreation: true })
  return deal === undefined ? !purged : isPresent(deal) || seesDeleted(sight, deal)
}
