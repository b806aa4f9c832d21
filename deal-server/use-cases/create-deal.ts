import * as z from 'zod'
import { emptyFields } from '../domain/deal-fields.ts'
import { defineEvent } from '../domain/events.ts'
import { amountIn, type MinorUnits } from '../domain/money.ts'
import { isRefusal, refuse } from '../domain/refusal.ts'
import { assignableUserOf, isSameUser } from './assignable-users.ts'
import { defineCreation } from './define-use-case.ts'
import { amount, calendarDate, currency, descriptionText, nameText, username, uuid } from './parameters.ts'

interface Creation {
  readonly id: string
  readonly name: string
  readonly price: MinorUnits
  readonly currency: string
  readonly description: string | null
  readonly completionDate: string | null
  readonly ownerId: string
  /** The owner's immutable id; absent in old events, which were written without ids. */
  readonly ownerUserId?: string
}

/** The first event of each deal. */
export const created = defineEvent({
  type: 'deal.created',
  phrase: 'created the deal',
  amounts: ['price'],
  details: (facts) => [`${facts.text('name')}, ${facts.money('price')}`],
  apply: (_none, data: Creation, { at, actor }) => ({
    ...emptyFields,
    ...data,
    ownerUserId: data.ownerUserId ?? null,
    status: 'open',
    held: false,
    penaltyTotal: 0,
    tasks: [],
    version: 0,
    sequence: 0,
    createdAt: at,
    createdBy: actor,
    updatedAt: at,
    updatedBy: actor,
  }),
})

/** Creates a deal, open and not held. A client that chooses `id` can retry: no second deal is created. */
export const createDeal = defineCreation({
  name: 'CreateDeal',
  summary: 'Create a deal',
  right: { name: 'deal.create', description: 'Create deals', own: 'Create deals as their owner' },
  verb: 'create',
  stateName: 'created',
  words: { title: 'Create the deal', done: 'The deal is created.' },
  events: [created],
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
    return [created(data)]
  },
})
