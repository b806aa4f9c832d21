import * as z from 'zod'
import { defineEvent } from '../domain/events.ts'
import { restoringRight } from '../domain/sight.ts'
import { defineDealCommand } from './define-use-case.ts'

const restored = defineEvent({
  type: 'deal.restored',
  phrase: 'restored the deal',
  apply: (deal) => ({ ...deal, deletedAt: null, purgeAt: null }),
})

/** Brings a deleted deal back as it was; a deal that is not deleted stays as it is. */
export const restoreDeal = defineDealCommand({
  name: 'RestoreDeal',
  summary: 'Restore a deleted deal',
  right: { name: restoringRight, description: 'Restore deals', own: 'Restore own deals' },
  verb: 'restore',
  stateName: 'restored',
  words: {
    title: 'Restore',
    done: 'The deal is restored.',
    pageTitle: 'Restore the deal',
    hint: 'The deal comes back as it was.',
  },
  events: [restored],
  refusals: [],
  params: z.strictObject({}),
  onDeleted: true,
  isWithoutEffect: ({ deletedAt }) => deletedAt === null,
  decide: (deal) => (deal.deletedAt === null ? [] : [restored({})]),
})
