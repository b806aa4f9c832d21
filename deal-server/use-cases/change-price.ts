import * as z from 'zod'
import { requireFree } from '../domain/deal.ts'
import { amountIn } from '../domain/money.ts'
import { isRefusal } from '../domain/refusal.ts'
import { defineDealCommand } from './define-use-case.ts'
import { amount, reasonText } from './parameters.ts'

/** Changes the price of a deal that is open and not held. With the stored price and reason nothing changes. */
export const changePrice = defineDealCommand({
  name: 'ChangePrice',
  summary: 'Change the price of a deal',
  right: 'deal.change-price',
  verb: 'change-price',
  stateName: 'price-changed',
  refusals: ['deal-closed', 'deal-held'],
  params: z.strictObject({ newPrice: amount, reason: reasonText }),
  attributes: { newPrice: 'price', reason: 'priceReason' },
  guard: requireFree,
  decide: (deal, params) => {
    const price = amountIn(deal.currency, params.newPrice, 'newPrice')
    if (isRefusal(price)) return price
    if (deal.price === price && deal.priceReason === params.reason) return []
    return [{ type: 'deal.price-changed', data: { old: deal.price, new: price, reason: params.reason } }]
  },
})
