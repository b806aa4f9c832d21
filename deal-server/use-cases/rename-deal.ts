import * as z from 'zod'
import { requireOpen } from '../domain/deal.ts'
import { changed, defineEvent } from '../domain/events.ts'
import { defineDealCommand } from './define-use-case.ts'
import { nameText } from './parameters.ts'

const renamed = defineEvent({
  type: 'deal.renamed',
  phrase: 'renamed the deal',
  details: (facts) => [changed(facts.text('old'), facts.text('new'))],
  apply: (deal, data: { old: string; new: string }) => ({ ...deal, name: data.new }),
})

/** Gives a deal another name. */
export const renameDeal = defineDealCommand({
  name: 'RenameDeal',
  summary: 'Rename a deal',
  right: { name: 'deal.rename', description: 'Rename deals', own: 'Rename own deals' },
  verb: 'rename',
  stateName: 'renamed',
  words: { title: 'Rename', done: 'The deal has its new name.', pageTitle: 'Rename the deal' },
  events: [renamed],
  refusals: ['deal-closed'],
  params: z.strictObject({ newName: nameText }),
  attributes: { newName: 'name' },
  guard: requireOpen,
  decide: (deal, { newName }) => (deal.name === newName ? [] : [renamed({ old: deal.name, new: newName })]),
})
