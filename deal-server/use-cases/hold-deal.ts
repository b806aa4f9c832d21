import * as z from 'zod'
import { requireOpen } from '../domain/deal.ts'
import { defineDealCommand } from './define-use-case.ts'
import { reasonCode, reasonText } from './parameters.ts'

/** Holds a deal, or replaces the reason of a held deal. Reason and code are compared as a pair. */
export const holdDeal = defineDealCommand({
  name: 'HoldDeal',
  summary: 'Hold a deal, so that price and date stay and it cannot be completed',
  right: 'deal.hold',
  verb: 'hold',
  stateName: 'holded',
  refusals: ['deal-closed'],
  params: z.strictObject({ reason: reasonText, reasonCode: reasonCode.nullable().optional() }),
  attributes: { reason: 'holdReason', reasonCode: 'holdReasonCode' },
  guard: requireOpen,
  decide: (deal, params) => {
    const reason = { reason: params.reason, code: params.reasonCode ?? null }
    if (!deal.held || deal.holdReason === null) return [{ type: 'deal.held', data: reason }]
    const old = { reason: deal.holdReason, code: deal.holdReasonCode }
    if (old.reason === reason.reason && old.code === reason.code) return []
    return [{ type: 'deal.hold-reason-changed', data: { old, new: reason } }]
  },
})
