import * as z from 'zod'
import type { Deal } from '../domain/deal.ts'
import { refuse } from '../domain/refusal.ts'
import { defineDealCommand } from './define-use-case.ts'

/** How long a deleted deal can be restored, in milliseconds. */
const restorableForMs = 30 * 24 * 60 * 60 * 1000

const requireNotCompleted = (deal: Deal) =>
  deal.status === 'completed' ? refuse('deal-completed', 'A completed deal cannot be deleted.') : undefined

/** Deletes a deal: readers no longer see it, it can be restored for 30 days, and its id is never used again. */
export const deleteDeal = defineDealCommand({
  name: 'DeleteDeal',
  summary: 'Delete a deal',
  right: 'deal.delete',
  verb: 'delete',
  stateName: 'deleted',
  refusals: ['deal-completed'],
  params: z.strictObject({}),
  guard: requireNotCompleted,
  decide: (_deal, _params, { now }) => {
    const purgeAt = new Date(Date.parse(now) + restorableForMs).toISOString()
    return [{ type: 'deal.deleted', data: { purgeAt } }]
  },
})
