import type { TrigramIndex } from '../../shared/platform/database/trigram-index.ts'
import { deals } from './schema.ts'

/**
 * The index of the filter `q`: parts of names and descriptions. Commands that change neither do not write into it. The
 * planner prefers it for rare texts and the order of the list for frequent ones.
 */
export const dealSearchIndex: TrigramIndex = {
  schema: 'deals',
  table: 'deals',
  name: 'deals_by_text',
  columns: [deals.name.name, deals.description.name],
  where: `${deals.deletedAt.name} is null`,
}
