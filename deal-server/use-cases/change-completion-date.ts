import * as z from 'zod'
import { requireFree, requirePenaltyFits } from '../domain/deal.ts'
import type { DealEvent } from '../domain/events.ts'
import { amountIn } from '../domain/money.ts'
import { isRefusal } from '../domain/refusal.ts'
import { defineDealCommand } from './define-use-case.ts'
import { amount, calendarDate, reasonText } from './parameters.ts'

/**
 * Changes or clears the completion date of a deal that is open and not held, and charges a penalty (0 for none). With
 * the stored date, penalty and reason nothing changes, and nothing is charged again.
 */
export const changeCompletionDate = defineDealCommand({
  name: 'ChangeCompletionDate',
  summary: 'Change the completion date of a deal',
  right: 'deal.change-completion-date',
  verb: 'change-completion-date',
  stateName: 'completion-date-changed',
  refusals: ['deal-closed', 'deal-held', 'penalty-limit'],
  params: z.strictObject({ newDate: calendarDate.nullable(), penaltyAmount: amount, whyChanged: reasonText }),
  attributes: { newDate: 'completionDate', penaltyAmount: 'completionDatePenalty', whyChanged: 'completionDateReason' },
  guard: requireFree,
  decide: (deal, { newDate, penaltyAmount, whyChanged: why }) => {
    const penalty = amountIn(deal.currency, penaltyAmount, 'penaltyAmount')
    if (isRefusal(penalty)) return penalty
    const same = deal.completionDate === newDate && deal.completionDatePenalty === penalty
    if (same && deal.completionDateReason === why) return []
    const tooMuch = requirePenaltyFits(deal, penalty)
    if (tooMuch) return tooMuch
    const changed: DealEvent = {
      type: 'deal.completion-date-changed',
      data: { old: deal.completionDate, new: newDate, penalty, why },
    }
    if (penalty === 0) return [changed]
    return [changed, { type: 'deal.penalty-charged', data: { amount: penalty, cause: 'completion-date-changed' } }]
  },
})
