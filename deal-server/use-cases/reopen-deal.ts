import * as z from 'zod'
import { notCancelled } from '../domain/deal.ts'
import { defineEvent } from '../domain/events.ts'
import { defineDealCommand } from './define-use-case.ts'
import { reasonText } from './parameters.ts'

const reopened = defineEvent({
  type: 'deal.reopened',
  phrase: 'reopened the deal',
  details: (facts) => [facts.text('reason')],
  apply: (deal, _data: { from: 'completed' | 'cancelled'; reason: string }) => ({
    ...deal,
    ...notCancelled,
    status: 'open',
    completion: null,
  }),
})

/**
 * Opens a completed or cancelled deal again; an open one stays as it is. Penalties stay charged, dropped tasks stay
 * dropped.
 */
export const reopenDeal = defineDealCommand({
  name: 'ReopenDeal',
  summary: 'Reopen a completed or cancelled deal',
  right: { name: 'deal.reopen', description: 'Reopen deals', own: 'Reopen own deals' },
  verb: 'reopen',
  stateName: 'reopened',
  words: {
    title: 'Reopen',
    done: 'The deal is open again.',
    pageTitle: 'Reopen the deal',
    hint: 'Penalties stay charged, and dropped tasks stay dropped.',
  },
  events: [reopened],
  refusals: [],
  params: z.strictObject({ reason: reasonText }),
  attributes: { reason: 'reopenReason' },
  isWithoutEffect: ({ status }) => status === 'open',
  decide: (deal, { reason }) => (deal.status === 'open' ? [] : [reopened({ from: deal.status, reason })]),
})
