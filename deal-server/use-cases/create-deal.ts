import { z } from 'zod'
import { foldUsername } from '../../shared/principals/record.ts'
import { exponentOf } from '../domain/currency.ts'
import { toMinorUnits } from '../domain/money.ts'
import { refuse, refuseValue } from '../domain/refusal.ts'
import { defineCreation } from './define-use-case.ts'
import { amount, calendarDate, currency, descriptionText, nameText, username, uuid } from './parameters.ts'

/** Makes a deal, open and not held. A client that chooses `id` may retry without making a second one. */
export const createDeal = defineCreation({
  name: 'CreateDeal',
  summary: 'Create a deal',
  right: 'deal.create',
  verb: 'create',
  stateName: 'created',
  params: z.strictObject({
    id: uuid.optional(),
    name: nameText,
    price: amount,
    currency: currency.optional(),
    completionDate: calendarDate.nullable().optional(),
    ownerId: username.optional(),
    description: descriptionText.nullable().optional(),
  }),
  dealId: ({ id }) => id,
  employees: ({ ownerId }) => (ownerId === undefined ? [] : [ownerId]),
  decide: (existing, params, context) => {
    if (existing) return refuse('deal-exists', 'There is, or was, a deal with this id.')
    const code = params.currency ?? context.defaultCurrency
    const price = toMinorUnits(params.price, code)
    if (price === undefined) {
      return refuseValue('price', 'currency-scale', `${code} has ${exponentOf(code)} decimals.`)
    }
    const owner = params.ownerId === undefined ? context.actor : context.employees.get(foldUsername(params.ownerId))
    if (owner === undefined) return refuse('employee-unknown', 'The owner must be an enabled user.')
    return [
      {
        type: 'deal.created',
        data: {
          id: context.dealId,
          name: params.name,
          price,
          currency: code,
          description: params.description ?? null,
          completionDate: params.completionDate ?? null,
          ownerId: owner,
        },
      },
    ]
  },
})
