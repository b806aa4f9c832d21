import * as z from 'zod'
import type { Deal } from '../domain/deal.ts'
import { defineEvent, labelled } from '../domain/events.ts'
import { refuse } from '../domain/refusal.ts'
import { defineDealCommand } from './define-use-case.ts'

/** How long a deleted deal can be restored, in milliseconds. */
const restorableForMs = 30 * 24 * 60 * 60 * 1000

const requireNotCompleted = (deal: Deal) =>
  deal.status === 'completed' ? refuse('deal-completed', 'A completed deal cannot be deleted.') : undefined

const deleted = defineEvent({
  type: 'deal.deleted',
  phrase: 'deleted the deal',
  details: (facts) => [labelled('It is kept until', facts.time('purgeAt'))],
  apply: (deal, { purgeAt }: { purgeAt: string }, { at }) => ({ ...deal, deletedAt: at, purgeAt }),
})

/** Deletes a deal: readers no longer see it, it can be restored for 30 days, and its id is never used again. */
export const deleteDeal = defineDealCommand({
  name: 'DeleteDeal',
  summary: 'Delete a deal',
  right: { name: 'deal.delete', description: 'Delete deals', own: 'Delete own deals' },
  verb: 'delete',
  stateName: 'deleted',
  words: {
    title: 'Delete',
    done: 'The deal is deleted.',
    pageTitle: 'Delete the deal',
    hint: 'Readers no longer see the deal. It can be restored for 30 days.',
  },
  events: [deleted],
  isDestructive: true,
  refusals: ['deal-completed'],
  params: z.strictObject({}),
  guard: requireNotCompleted,
  decide: (_deal, _params, { now }) => {
    const purgeAt = new Date(Date.parse(now) + restorableForMs).toISOString()
    return [deleted({ purgeAt })]
  },
})
