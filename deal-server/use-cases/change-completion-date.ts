import * as z from 'zod'
import { requireFree, requirePenaltyFits } from '../domain/deal.ts'
import { changed, defineEvent } from '../domain/events.ts'
import { amountIn, type MinorUnits } from '../domain/money.ts'
import { isRefusal } from '../domain/refusal.ts'
import { penaltyCharged } from '../domain/shared-events.ts'
import { defineDealCommand } from './define-use-case.ts'
import { amount, calendarDate, reasonText } from './parameters.ts'

interface ChangedDate {
  readonly old: string | null
  readonly new: string | null
  readonly penalty: MinorUnits
  readonly why: string
}

const dateChanged = defineEvent({
  type: 'deal.completion-date-changed',
  phrase: 'changed the completion date',
  amounts: ['penalty'],
  details: (facts) => [changed(facts.date('old'), facts.date('new')), facts.text('why')],
  apply: (deal, data: ChangedDate) => ({
    ...deal,
    completionDate: data.new,
    completionDateReason: data.why,
    completionDatePenalty: data.penalty,
  }),
})

/**
 * Changes or clears the completion date of a deal that is open and not held, and charges a penalty (0 for none). With
 * the stored date, penalty and reason nothing changes, and nothing is charged again.
 */
export const changeCompletionDate = defineDealCommand({
  name: 'ChangeCompletionDate',
  summary: 'Change the completion date of a deal',
  right: {
    name: 'deal.change-completion-date',
    description: 'Change completion dates',
    own: 'Change completion dates of own deals',
  },
  verb: 'change-completion-date',
  stateName: 'completion-date-changed',
  words: { title: 'Change the completion date', done: 'The completion date is changed.' },
  events: [dateChanged, penaltyCharged],
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
    const event = dateChanged({ old: deal.completionDate, new: newDate, penalty, why })
    return penalty === 0 ? [event] : [event, penaltyCharged({ amount: penalty, cause: 'completion-date-changed' })]
  },
})
