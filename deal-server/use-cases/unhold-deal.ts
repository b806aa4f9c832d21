import * as z from 'zod'
import { notHeld, requireOpen } from '../domain/deal.ts'
import { defineEvent, labelled } from '../domain/events.ts'
import { defineDealCommand } from './define-use-case.ts'

const unheld = defineEvent({
  type: 'deal.unheld',
  phrase: 'ended the hold',
  details: (facts) => [labelled('It lasted', facts.duration('heldForSeconds'))],
  apply: (deal, _data: { heldForSeconds: number }) => ({ ...deal, ...notHeld }),
})

/** Ends the hold of a deal. A deal that is not held stays as it is. */
export const unholdDeal = defineDealCommand({
  name: 'UnholdDeal',
  summary: 'End the hold of a deal',
  right: { name: 'deal.unhold', description: 'Unhold deals', own: 'Unhold own deals' },
  verb: 'unhold',
  stateName: 'unholded',
  words: {
    title: 'End the hold',
    done: 'The deal is no longer on hold.',
    hint: 'Price and date can then be changed again, and the deal can be completed.',
  },
  events: [unheld],
  refusals: ['deal-closed'],
  params: z.strictObject({}),
  attributes: {},
  guard: requireOpen,
  isWithoutEffect: ({ held }) => !held,
  decide: (deal, _params, { now }) => {
    if (!deal.held || deal.heldAt === null) return []
    const heldForSeconds = Math.max(0, Math.floor((Date.parse(now) - Date.parse(deal.heldAt)) / 1000))
    return [unheld({ heldForSeconds })]
  },
})
