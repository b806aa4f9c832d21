/** The query parameters of lists (docs/contract/reading.md#lists-of-deals), and the scopes of this server's cursors. */
import * as z from 'zod'
import { pageParameters } from '../../../shared/platform/http/content/query-parameters.ts'
import type { ListScope } from '../../../shared/platform/http/pagination/cursors.ts'
import { foldUsername } from '../../../shared/protocol/principal/record.ts'
import { type DealFilter, type DealSort, dealSortKeys, type GroupKey, groupKeys } from '../../queries/ports.ts'
import { type ListedDealMember, listedDealMembers } from '../representations/represent-deal.ts'
import { dealFilterParameters, filterOf } from './deal-filters.ts'

const sorts = new Map(
  dealSortKeys.flatMap((by): [string, DealSort][] => [
    [by, { by, descending: false }],
    [`-${by}`, { by, descending: true }],
  ]),
)

const sort = z
  .enum([...sorts.keys()])
  .default('-createdAt')
  .meta({
    description:
      'The sort key; `-` sorts descending. Ties are sorted by id in the same direction; deals without a completion ' +
      'date always come last. Text is compared by code point. `price` needs `currency`.',
  })

/** A list of names with commas between, each one of `names`. */
const namesAmong = <Name extends string>(names: readonly Name[]) =>
  z.string().transform((text, context) => {
    const isName = (part: string): part is Name => names.some((name) => name === part)
    const parts = text.split(',')
    const found = parts.filter(isName)
    if (found.length === parts.length) return [...new Set(found)]
    const message = `Expected names with commas between, out of ${names.join(', ')}.`
    context.addIssue({ code: 'custom', message, params: { code: 'unknown-name' } })
    return z.NEVER
  })

const fields = namesAmong(listedDealMembers).optional().meta({
  description: 'The members that each deal shall have, with commas between. `id` is always there.',
})

/** The query parameters of the list of deals, as texts. */
export const dealListParameters = z.strictObject({ ...dealFilterParameters, sort, fields, ...pageParameters.shape })

interface DealListQuery {
  readonly filter: DealFilter
  readonly sort: DealSort
  /** The members of each deal; undefined for all. */
  readonly fields: readonly ListedDealMember[] | undefined
  readonly limit: number
  readonly cursor: string | undefined
}

/** Parses the query of a list. */
export const dealListQuery = dealListParameters.transform((parameters, context): DealListQuery => {
  const { sort: sortName, fields, limit, cursor, ...filter } = parameters
  const sort = sorts.get(sortName) ?? { by: 'createdAt', descending: true }
  return { filter: filterOf(filter, context, sort.by === 'price'), sort, fields, limit, cursor }
})

const by = namesAmong<GroupKey | 'currency'>([...groupKeys, 'currency'])
  .optional()
  .meta({
    description:
      'By what deals are grouped, with commas between: `status`, `held`, `ownerId`, `currency`. The currency is always ' +
      'part of it, because amounts of different currencies have no sum. Left out: `status,held,currency`.',
  })

/** The query parameters of a summary, as texts. */
export const dealSummaryParameters = z.strictObject({ ...dealFilterParameters, by })

/** Parses the query of a summary. */
export const dealSummaryParsed = dealSummaryParameters.transform(({ by, ...filter }, context) => ({
  filter: filterOf(filter, context),
  by: groupKeys.filter((key) => (by ?? ['status', 'held']).includes(key)),
}))

// A cursor belongs to one list. The same list in two styles has one scope: a client may continue in the other style.

/** The scope of a list of deals. `filter` is normalised, so that all spellings of a query have one scope. */
export function dealListScope({ filter, sort }: { filter: DealFilter; sort: DealSort }): ListScope {
  const { status, held, ownerId, currency, priceMin, priceMax, completionFrom, completionTo, q } = filter
  const { createdFrom, createdTo, updatedFrom, updatedTo, ids } = filter
  const { by, descending } = sort
  // The signature of a cursor covers the members in this order.
  const own = { status, held, ownerId, currency, priceMin, priceMax, completionFrom, completionTo, q, by, descending }
  return { list: 'deals', query: { ...own, createdFrom, createdTo, updatedFrom, updatedTo, ids } }
}

/** The scope of the history of a deal. */
export const historyScope = (dealId: string): ListScope => ({ list: 'history', query: { dealId } })

/** The scope of the commands of a deal. */
export const commandsScope = (dealId: string): ListScope => ({ list: 'commands', query: { dealId } })

/** The scope of the open tasks of a user. */
export const assignedTaskScope = (username: string): ListScope => ({
  list: 'assigned-tasks',
  query: { assigneeId: foldUsername(username) },
})
