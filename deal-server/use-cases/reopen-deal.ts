import * as z from 'zod'
import { defineDealCommand } from './define-use-case.ts'
import { reasonText } from './parameters.ts'

/**
 * Opens a completed or cancelled deal again; an open one stays as it is. Penalties stay charged, dropped tasks stay
 * dropped.
 */
export const reopenDeal = defineDealCommand({
  name: 'ReopenDeal',
  summary: 'Reopen a completed or cancelled deal',
  right: 'deal.reopen',
  verb: 'reopen',
  stateName: 'reopened',
  refusals: [],
  params: z.strictObject({ reason: reasonText }),
  attributes: { reason: 'reopenReason' },
  isWithoutEffect: ({ status }) => status === 'open',
  decide: (deal, { reason }) =>
    deal.status === 'open' ? [] : [{ type: 'deal.reopened', data: { from: deal.status, reason } }],
})
