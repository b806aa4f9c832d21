import * as z from 'zod'
import { amountIn } from '../domain/money.ts'
import { isRefusal, refuse } from '../domain/refusal.ts'
import { assignableUserOf, isSameUser } from './assignable-users.ts'
import { defineCreation } from './define-use-case.ts'
import { amount, calendarDate, currency, descriptionText, nameText, username, uuid } from './parameters.ts'

/** Creates a deal, open and not held. A client that chooses `id` can retry: no second deal is created. */
export const createDeal = defineCreation({
  name: 'CreateDeal',
  summary: 'Create a deal',
  right: 'deal.create',
  verb: 'create',
  stateName: 'created',
  refusals: ['deal-exists', 'employee-unknown'],
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
  isOwn: ({ ownerId }, { username }) => ownerId === undefined || isSameUser(ownerId, username),
  assignableUsers: ({ ownerId }) => (ownerId === undefined ? [] : [ownerId]),
  decide: (existing, params, context) => {
    if (existing || context.isTaken) return refuse('deal-exists', 'There is, or was, a deal with this id.')
    const code = params.currency ?? context.defaultCurrency
    const price = amountIn(code, params.price, 'price')
    if (isRefusal(price)) return price
    const owner = params.ownerId === undefined ? context.caller : assignableUserOf(params.ownerId, 'ownerId', context)
    if (isRefusal(owner)) return owner
    const { username: ownerId, userId: ownerUserId } = owner
    const { name, description = null, completionDate = null } = params
    const data = { id: context.dealId, name, price, currency: code, description, completionDate, ownerId, ownerUserId }
    return [{ type: 'deal.created', data }]
  },
})
