/**
 * The query of GET of the deals: filters, order and page (CONTRACT sections 5 and 9). And to which list a cursor of
 * this server belongs.
 */
import { z } from 'zod'
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
      'What the deals are sorted by; `-` descending. Ties are sorted by id in the same direction; deals without a completion date come last in either. Text is compared by code point. `price` needs `currency`.',
  })

const price = (description: string) => z.string().optional().meta({ description, pattern: '^\\d{1,12}(\\.\\d{1,3})?$' })

/** Each as text. */
export const dealListParameters = z.strictObject({
  status: z.enum(['open', 'completed', 'cancelled']).optional(),
  held: z.enum(['true', 'false']).optional(),
  ownerId: username.optional().meta({ description: 'A user name, in whatever ASCII case.' }),
  currency: currency.optional(),
  priceMin: price('The least price, in major units of `currency`, which is needed.'),
  priceMax: price('The largest price, in major units of `currency`, which is needed.'),
  completionFrom: calendarDate.optional().meta({ description: 'The first completion date.' }),
  completionTo: calendarDate.optional().meta({ description: 'The last completion date.' }),
  q: partOfName.optional(),
  sort,
  ...pageParameters.shape,
})

/** A list as asked for. */
export interface AskedDealList {
  readonly filter: DealFilter
  readonly sort: DealSort
  readonly limit: number
  readonly cursor: string | undefined
}

/** The query as the repository takes it. Bounds of prices need a currency, and no more decimals than it has. */
export const dealListQuery = dealListParameters.transform((parameters, context): AskedDealList => {
  const { held, ownerId, priceMin, priceMax, sort: sortName, limit, cursor, ...filter } = parameters
  const issue = (name: string, code: string, message: string) =>
    context.addIssue({ code: 'custom', path: [name], message, params: { code } })
  const asked = sorts.get(sortName) ?? { by: 'createdAt', descending: true }
  const isByPrice = asked.by === 'price' || priceMin !== undefined || priceMax !== undefined
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
    sort: asked,
    limit,
    cursor,
  }
})

// A cursor belongs to one list. One list in two styles has one scope: a walk may go on in the other.

/** Deals; `filter` in the one form that all spellings of a query have. */
export const dealListScope = ({ filter, sort }: { filter: DealFilter; sort: DealSort }): ListScope => {
  const { status, held, ownerId, currency, priceMin, priceMax, completionFrom, completionTo, q } = filter
  return {
    list: 'deals',
    query: { status, held, ownerId, currency, priceMin, priceMax, completionFrom, completionTo, q, ...sort },
  }
}

/** What happened to a deal. */
export const historyScope = (dealId: string): ListScope => ({ list: 'history', query: { dealId } })

/** The commands of a deal. */
export const commandsScope = (dealId: string): ListScope => ({ list: 'commands', query: { dealId } })

/** The open tasks of a user. */
export const assignedTaskScope = (username: string): ListScope => ({
  list: 'assigned-tasks',
  query: { assigneeId: foldUsername(username) },
})
