import * as z from 'zod'
import { notHeld, requireOpen, requirePenaltyFits } from '../domain/deal.ts'
import { defineEvent } from '../domain/events.ts'
import { amountIn, type MinorUnits, toMinorUnits } from '../domain/money.ts'
import { isRefusal } from '../domain/refusal.ts'
import { dropOpenTasks, penaltyCharged, taskDropped } from '../domain/shared-events.ts'
import { defineDealCommand } from './define-use-case.ts'
import { amount, reasonText } from './parameters.ts'

const cancelled = defineEvent({
  type: 'deal.cancelled',
  phrase: 'cancelled the deal',
  amounts: ['penalty'],
  details: (facts) => [facts.text('reason'), facts.is('wasHeld') ? 'The deal was on hold.' : ''],
  apply: (deal, { penalty, reason }: { penalty: MinorUnits; reason: string; wasHeld: boolean }, { at }) => ({
    ...deal,
    ...notHeld,
    status: 'cancelled',
    cancelReason: reason,
    cancelPenalty: penalty,
    cancelledAt: at,
  }),
})

/** Cancels an open deal, held or not: clears the hold, drops open tasks and charges the penalty (0 for none). */
export const cancelDeal = defineDealCommand({
  name: 'CancelDeal',
  summary: 'Cancel a deal',
  right: { name: 'deal.cancel', description: 'Cancel deals', own: 'Cancel own deals' },
  verb: 'cancel',
  stateName: 'cancelled',
  words: {
    title: 'Cancel the deal',
    done: 'The deal is cancelled.',
    hint: 'Open tasks are dropped, and a hold ends.',
  },
  events: [cancelled, penaltyCharged, taskDropped],
  isDestructive: true,
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
    const charged = penalty > 0 ? [penaltyCharged({ amount: penalty, cause: 'cancelled' })] : []
    return [cancelled({ penalty, reason, wasHeld: deal.held }), ...charged, ...dropOpenTasks(deal, 'cancelled')]
  },
})
