import * as z from 'zod'
import { requireOpen } from '../domain/deal.ts'
import { defineDealCommand } from './define-use-case.ts'
import { nameText } from './parameters.ts'

/** Gives a deal another name. */
export const renameDeal = defineDealCommand({
  name: 'RenameDeal',
  summary: 'Rename a deal',
  right: 'deal.rename',
  verb: 'rename',
  stateName: 'renamed',
  refusals: ['deal-closed'],
  params: z.strictObject({ newName: nameText }),
  attributes: { newName: 'name' },
  guard: requireOpen,
  decide: (deal, { newName }) =>
    deal.name === newName ? [] : [{ type: 'deal.renamed', data: { old: deal.name, new: newName } }],
})
