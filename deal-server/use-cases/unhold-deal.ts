import * as z from 'zod'
import { requireOpen } from '../domain/deal.ts'
import { defineDealCommand } from './define-use-case.ts'

/** Ends the hold of a deal. A deal that is not held stays as it is. */
export const unholdDeal = defineDealCommand({
  name: 'UnholdDeal',
  summary: 'End the hold of a deal',
  right: 'deal.unhold',
  verb: 'unhold',
  stateName: 'unholded',
  refusals: ['deal-closed'],
  params: z.strictObject({}),
  attributes: {},
  guard: requireOpen,
  isWithoutEffect: ({ held }) => !held,
  decide: (deal, _params, { now }) => {
    if (!deal.held || deal.heldAt === null) return []
    const heldForSeconds = Math.max(0, Math.floor((Date.parse(now) - Date.parse(deal.heldAt)) / 1000))
    return [{ type: 'deal.unheld', data: { heldForSeconds } }]
  },
})
