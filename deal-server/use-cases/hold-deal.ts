import * as z from 'zod'
import { requireOpen } from '../domain/deal.ts'
import { changed, defineEvent, type EventFacts } from '../domain/events.ts'
import { defineDealCommand } from './define-use-case.ts'
import { reasonCode, reasonText } from './parameters.ts'

interface HoldReason {
  readonly reason: string
  readonly code: string | null
}

const inWords = (facts: Pick<EventFacts, 'text'>): string => {
  const code = facts.text('code')
  return facts.text('reason') + (code === '' ? '' : ` (${code})`)
}

const held = defineEvent({
  type: 'deal.held',
  phrase: 'put the deal on hold',
  details: (facts) => [inWords(facts)],
  apply: (deal, { reason, code }: HoldReason, { at, actor }) => ({
    ...deal,
    held: true,
    holdReason: reason,
    holdReasonCode: code,
    heldAt: at,
    heldBy: actor,
  }),
})

const holdReasonChanged = defineEvent({
  type: 'deal.hold-reason-changed',
  phrase: 'changed the reason of the hold',
  details: (facts) => [changed(inWords(facts.of('old')), inWords(facts.of('new')))],
  apply: (deal, { new: { reason, code } }: { old: HoldReason; new: HoldReason }) => ({
    ...deal,
    holdReason: reason,
    holdReasonCode: code,
  }),
})

/** Holds a deal, or replaces the reason of a held deal. Reason and code are compared as a pair. */
export const holdDeal = defineDealCommand({
  name: 'HoldDeal',
  summary: 'Hold a deal, so that price and date stay and it cannot be completed',
  right: { name: 'deal.hold', description: 'Hold deals', own: 'Hold own deals' },
  verb: 'hold',
  stateName: 'holded',
  words: {
    title: 'Hold',
    done: 'The deal is on hold.',
    pageTitle: 'Hold the deal',
    titleOnHold: 'Change the reason of the hold',
    hint: 'While a deal is on hold, its price and date stay as they are and it cannot be completed.',
  },
  events: [held, holdReasonChanged],
  refusals: ['deal-closed'],
  params: z.strictObject({ reason: reasonText, reasonCode: reasonCode.nullable().optional() }),
  attributes: { reason: 'holdReason', reasonCode: 'holdReasonCode' },
  guard: requireOpen,
  decide: (deal, params) => {
    const reason = { reason: params.reason, code: params.reasonCode ?? null }
    if (!deal.held || deal.holdReason === null) return [held(reason)]
    const old = { reason: deal.holdReason, code: deal.holdReasonCode }
    if (old.reason === reason.reason && old.code === reason.code) return []
    return [holdReasonChanged({ old, new: reason })]
  },
})
