/** The query parameters of lists (docs/contract.md#lists-of-deals), and the scopes of this server's cursors. */
import * as z from 'zod'
import { pageParameters } from '../../../shared/platform/http/content/query-parameters.ts'
import type { ListScope } from '../../../shared/platform/http/pagination/cursors.ts'
import { foldUsername } from '../../../shared/protocol/principal/record.ts'
import { type MinorUnits, readDecimal, toMinorUnits } from '../../domain/money.ts'
import { type DealFilter, type DealSort, dealSortKeys } from '../../queries/ports.ts'
import { calendarDate, currency, partOfName, username } from '../../use-cases/parameters.ts'

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

const price = (description: string) => z.string().optional().meta({ description, pattern: '^\\d{1,12}(\\.\\d{1,3})?$' })

/** The query parameters of the list of deals, as texts. */
export const dealListParameters = z.strictObject({
  status: z.enum(['open', 'completed', 'cancelled']).optional(),
  held: z.enum(['true', 'false']).optional(),
  ownerId: username.optional().meta({ description: 'A user name; ASCII case is ignored.' }),
  currency: currency.optional(),
  priceMin: price('The lowest price, in major units of `currency`, which is then required.'),
  priceMax: price('The highest price, in major units of `currency`, which is then required.'),
  completionFrom: calendarDate.optional().meta({ description: 'The first completion date.' }),
  completionTo: calendarDate.optional().meta({ description: 'The last completion date.' }),
  q: partOfName.optional(),
  sort,
  ...pageParameters.shape,
})

/** The checked query of a list. */
export interface DealListQuery {
  readonly filter: DealFilter
  readonly sort: DealSort
  readonly limit: number
  readonly cursor: string | undefined
}

/** Parses the query. Bounds of prices need a currency, and at most as many decimals as the currency has. */
export const dealListQuery = dealListParameters.transform((parameters, context): DealListQuery => {
  const { held, ownerId, priceMin, priceMax, sort: sortName, limit, cursor, ...filter } = parameters
  const issue = (name: string, code: string, message: string) =>
    context.addIssue({ code: 'custom', path: [name], message, params: { code } })
  const sort = sorts.get(sortName) ?? { by: 'createdAt', descending: true }
  const isByPrice = sort.by === 'price' || priceMin !== undefined || priceMax !== undefined
  if (isByPrice && filter.currency === undefined) {
    issue('currency', 'missing-member', 'Sorting or filtering by price needs this parameter.')
    return z.NEVER
  }
  const minorUnits = (name: string, text: string | undefined): MinorUnits | undefined => {
    if (text === undefined) return undefined
    const decimal = readDecimal(text)
    const amount = decimal === undefined ? undefined : toMinorUnits(decimal, filter.currency ?? '')
    if (amount === undefined)
      issue(name, 'invalid-amount', 'Expected an amount without exponent, with no more decimals than the currency has.')
    return amount
  }
  return {
    filter: {
      ...filter,
      held: held && held === 'true',
      ownerId: ownerId && foldUsername(ownerId),
      priceMin: minorUnits('priceMin', priceMin),
      priceMax: minorUnits('priceMax', priceMax),
    },
    sort,
    limit,
    cursor,
  }
})

// A cursor belongs to one list. The same list in two styles has one scope: a client may continue in the other style.

/** The scope of a list of deals. `filter` is normalised, so that all spellings of a query have one scope. */
export function dealListScope({ filter, sort }: { filter: DealFilter; sort: DealSort }): ListScope {
  const { status, held, ownerId, currency, priceMin, priceMax, completionFrom, completionTo, q } = filter
  return {
    list: 'deals',
    query: { status, held, ownerId, currency, priceMin, priceMax, completionFrom, completionTo, q, ...sort },
  }
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
