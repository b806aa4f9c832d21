/** The query parameters by which deals are filtered (docs/contract/reading.md#lists-of-deals), in lists and sums. */
import * as z from 'zod'
import { timeParameter as time } from '../../../shared/platform/http/content/time-parameter.ts'
import { foldUsername } from '../../../shared/protocol/principal/record.ts'
import { filterFields } from '../../domain/deal-fields.ts'
import { type MinorUnits, readDecimal, toMinorUnits } from '../../domain/money.ts'
import type { DealFilter } from '../../queries/ports.ts'
import { calendarDate, currency, parseUuid, partOfText, username } from '../../use-cases/parameters.ts'

const price = (description: string) => z.string().optional().meta({ description, pattern: '^\\d{1,12}(\\.\\d{1,3})?$' })

/** More ids than this belong into several requests. */
const maxIds = 200

const ids = z
  .string()
  .transform((text, context) => {
    const refuse = (message: string) => {
      context.addIssue({ code: 'custom', message, params: { code: 'invalid-ids' } })
      return z.NEVER
    }
    const parts = text.split(',')
    if (parts.length > maxIds) return refuse(`At most ${maxIds} ids.`)
    const found = parts.flatMap((part) => parseUuid(part) ?? [])
    if (found.length < parts.length) return refuse('Expected ids of deals, UUIDs with commas between.')
    return [...new Set(found)].sort()
  })
  .optional()
  .meta({ description: `Only these deals: ids with commas between, at most ${maxIds}. Unknown ids are left out.` })

const exactText = z.string().min(1).max(200).optional()
/** Filters that are not listed below take a text. */
const otherFilters = Object.fromEntries(filterFields.map((name) => [name, exactText])) as Record<never, never>

/** The members of the query that filter, as texts. */
export const dealFilterParameters = {
  ...otherFilters,
  status: z.enum(['open', 'completed', 'cancelled']).optional(),
  held: z.enum(['true', 'false']).optional(),
  ownerId: username.optional().meta({ description: 'A user name; ASCII case is ignored.' }),
  currency: currency.optional(),
  priceMin: price('The lowest price, in major units of `currency`, which is then required.'),
  priceMax: price('The highest price, in major units of `currency`, which is then required.'),
  completionFrom: calendarDate.optional().meta({ description: 'The first completion date.' }),
  completionTo: calendarDate.optional().meta({ description: 'The last completion date.' }),
  createdFrom: time('The earliest time of creation (RFC 3339).'),
  createdTo: time('The end of the times of creation (RFC 3339): this time itself is excluded.'),
  updatedFrom: time('The earliest time of the last change (RFC 3339).'),
  updatedTo: time('The end of the times of the last change (RFC 3339): this time itself is excluded.'),
  id: ids,
  q: partOfText.optional(),
}

type FilterParameters = z.output<z.ZodObject<typeof dealFilterParameters>>

/**
 * The filter of checked parameters. Bounds of prices need a currency, and at most as many decimals as the currency has.
 * Faults become issues of `context`.
 */
export function filterOf(
  parameters: FilterParameters,
  context: z.core.$RefinementCtx,
  isSortedByPrice = false,
): DealFilter {
  const { held, ownerId, priceMin, priceMax, id, ...filter } = parameters
  const issue = (name: string, code: string, message: string) =>
    context.addIssue({ code: 'custom', path: [name], message, params: { code } })
  const isByPrice = isSortedByPrice || priceMin !== undefined || priceMax !== undefined
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
    ...filter,
    held: held && held === 'true',
    ownerId: ownerId && foldUsername(ownerId),
    priceMin: minorUnits('priceMin', priceMin),
    priceMax: minorUnits('priceMax', priceMax),
    ids: id,
  }
}
