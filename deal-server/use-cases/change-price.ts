import * as z from 'zod'
import { requireFree } from '../domain/deal.ts'
import { changed, defineEvent } from '../domain/events.ts'
import { amountIn, type MinorUnits } from '../domain/money.ts'
import { isRefusal } from '../domain/refusal.ts'
import { defineDealCommand } from './define-use-case.ts'
import { amount, reasonText } from './parameters.ts'

const priceChanged = defineEvent({
  type: 'deal.price-changed',
  phrase: 'changed the price',
  amounts: ['old', 'new'],
  details: (facts) => [changed(facts.money('old'), facts.money('new')), facts.text('reason')],
  apply: (deal, data: { old: MinorUnits; new: MinorUnits; reason: string }) => ({
    ...deal,
    price: data.new,
    priceReason: data.reason,
  }),
})

/** Changes the price of a deal that is open and not held. With the stored price and reason nothing changes. */
export const changePrice = defineDealCommand({
  name: 'ChangePrice',
  summary: 'Change the price of a deal',
  right: { name: 'deal.change-price', description: 'Change prices', own: 'Change prices of own deals' },
  verb: 'change-price',
  stateName: 'price-changed',
  words: { title: 'Change the price', done: 'The price is changed.' },
  events: [priceChanged],
  refusals: ['deal-closed', 'deal-held'],
  params: z.strictObject({ newPrice: amount, reason: reasonText }),
  attributes: { newPrice: 'price', reason: 'priceReason' },
  guard: requireFree,
  decide: (deal, params) => {
    const price = amountIn(deal.currency, params.newPrice, 'newPrice')
    if (isRefusal(price)) return price
    if (deal.price === price && deal.priceReason === params.reason) return []
    return [priceChanged({ old: deal.price, new: price, reason: params.reason })]
  },
})
