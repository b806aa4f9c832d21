/** Whether a caller may read a deal, or its past: a deleted deal is there for those who may restore it. */
import type { Caller } from '../../shared/protocol/authentication/authenticate.ts'
import { isPresent, noSuchDeal, seesDeleted } from '../commands/presence.ts'
import type { Deal } from '../domain/deal.ts'
import type { DealReader } from './ports.ts'

/** The deal that was asked for, and by whom. */
interface Asked {
  readonly dealId: string
  readonly caller: Caller
}

/** @throws ProblemError `not-found`; a caller who may restore a deleted deal learns that it was deleted */
export function requirePresent(deal: Deal | undefined, asked: Asked): Deal {
  if (isPresent(deal)) return deal
  throw noSuchDeal(deal, asked)
}

/**
 * Whether the caller may read the history and the commands of a deal: of a deleted or purged one, with the right to
 * restore deals.
 */
export async function mayReadPast(reader: Pick<DealReader, 'load'>, { dealId, caller }: Asked): Promise<boolean> {
  if (seesDeleted(caller)) return true
  const { deal, purged } = await reader.load(dealId, undefined, { forCreation: true })
  return deal === undefined ? !purged : isPresent(deal)
}
