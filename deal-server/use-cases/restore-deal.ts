import * as z from 'zod'
import { defineDealCommand } from './define-use-case.ts'

/** Brings a deleted deal back as it was; a deal that is not deleted stays as it is. */
export const restoreDeal = defineDealCommand({
  name: 'RestoreDeal',
  summary: 'Restore a deleted deal',
  right: 'deal.restore',
  verb: 'restore',
  stateName: 'restored',
  refusals: [],
  params: z.strictObject({}),
  onDeleted: true,
  isWithoutEffect: ({ deletedAt }) => deletedAt === null,
  decide: (deal) => (deal.deletedAt === null ? [] : [{ type: 'deal.restored', data: {} }]),
})
