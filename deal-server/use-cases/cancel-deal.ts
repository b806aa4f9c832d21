import * as z from 'zod'
import { dropOpenTasks, requireOpen, requirePenaltyFits } from '../domain/deal.ts'
import type { DealEvent } from '../domain/events.ts'
import { amountIn, toMinorUnits } from '../domain/money.ts'
import { isRefusal } from '../domain/refusal.ts'
import { defineDealCommand } from './define-use-case.ts'
import { amount, reasonText } from './parameters.ts'

/** Cancels an open deal, held or not: clears the hold, drops open tasks and charges the penalty (0 for none). */
export const cancelDeal = defineDealCommand({
  name: 'CancelDeal',
  summary: 'Cancel a deal',
  right: 'deal.cancel',
  verb: 'cancel',
  stateName: 'cancelled',
  refusals: ['deal-closed', 'penalty-limit'],
  params: z.strictObject({ penaltyAmount: amount, reason: reasonText }),
  attributes: { penaltyAmount: 'cancelPenalty', reason: 'cancelReason' },
  guard: requireOpen,
  isDone: (deal, { penaltyAmount, reason }) =>
    deal.status === 'cancelled' &&
    deal.cancelReason === reason &&
    deal.cancelPenalty === toMinorUnits(penaltyAmount, deal.currency),
  decide: (deal, { penaltyAmount, reason }) => {
    const penalty = amountIn(deal.currency, penaltyAmount, 'penaltyAmount')
    if (isRefusal(penalty)) return penalty
    const tooMuch = requirePenaltyFits(deal, penalty)
    if (tooMuch) return tooMuch
    const events: DealEvent[] = [{ type: 'deal.cancelled', data: { penalty, reason, wasHeld: deal.held } }]
    if (penalty > 0) events.push({ type: 'deal.penalty-charged', data: { amount: penalty, cause: 'cancelled' } })
    return [...events, ...dropOpenTasks(deal, 'cancelled')]
  },
})
